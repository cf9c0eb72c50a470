// golden.hpp: Compares a text with the approved one in tests/data, or renews it (FATUNE_APPROVE=1).
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"
#include "core/text.hpp"

namespace fatune::test {

/// Fills the lines of JSON objects and lists up to 100 columns, and joins each that fits into a
/// line, as tests/cli/run_golden.py does.
inline std::string folded(const std::string& json) {
  constexpr std::size_t kColumns = 100;
  std::vector<std::string> lines;
  std::vector<std::size_t> begun;  ///< lines that open what is not closed yet
  for (std::string line : split(json, '\n')) {
    const std::string_view word = trim(line);
    const bool opens = word.ends_with('{') || word.ends_with('[');
    if (word.starts_with('}') || word.starts_with(']')) {
      const std::size_t first = begun.back();
      begun.pop_back();
      std::string joined = lines[first];
      for (std::size_t i = first + 1; i < lines.size(); ++i)
        joined.append(" ").append(trim(lines[i]));
      joined.append(" ").append(word);
      if (joined.size() <= kColumns) {
        lines.resize(first);
        line = joined;
      }
    }
    const bool inside = !begun.empty() && begun.back() + 1 < lines.size();
    if (opens) begun.push_back(lines.size());
    const std::string_view before = lines.empty() ? "" : trim(lines.back());
    if (inside && !opens && before.ends_with(',') && before != "}," && before != "]," &&
        lines.back().size() + 1 + trim(line).size() <= kColumns) {
      lines.back().append(" ").append(trim(line));
    } else {
      lines.push_back(line);
    }
  }
  return join(lines, "\n");
}

inline void check_golden(const std::string& name, const std::string& text) {
  const std::filesystem::path path = std::filesystem::path(FATUNE_TEST_DATA_DIR) / name;
  if (std::getenv("FATUNE_APPROVE") != nullptr) REQUIRE(replace_file(path, text));
  const auto approved = read_file(path);
  REQUIRE(approved);
  CHECK(text == *approved);
}

}  // namespace fatune::test
