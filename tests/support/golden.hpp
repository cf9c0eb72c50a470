// golden.hpp: Compares a text with the approved one in tests/data, or renews it (FATUNE_APPROVE=1).
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"

namespace fatune::test {

inline void check_golden(const std::string& name, const std::string& text) {
  const std::filesystem::path path = std::filesystem::path(FATUNE_TEST_DATA_DIR) / name;
  if (std::getenv("FATUNE_APPROVE") != nullptr) REQUIRE(replace_file(path, text));
  const auto approved = read_file(path);
  REQUIRE(approved);
  CHECK(text == *approved);
}

}  // namespace fatune::test
