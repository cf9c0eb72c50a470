// embedded_test.cpp: Tests that the files inside the binary equal those of the source tree.
#include "core/embedded.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "core/hash.hpp"

namespace fatune {
namespace {

const std::filesystem::path kRoot = FATUNE_SOURCE_DIR;

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void check_files(std::span<const EmbeddedFile> files, const std::filesystem::path& folder) {
  REQUIRE_FALSE(files.empty());
  CHECK(std::ranges::is_sorted(files, {}, &EmbeddedFile::path));
  for (const EmbeddedFile& file : files) {
    INFO(file.path);
    CHECK(file.text == bytes_of(folder / file.path));
    CHECK(file.sha256 == sha256_hex(file.text));
  }
}

TEST_CASE("every kernel file is embedded byte for byte") {
  check_files(embedded_kernel_files(), kRoot / "kernels");

  std::set<std::string> embedded;
  for (const EmbeddedFile& file : embedded_kernel_files()) embedded.emplace(file.path);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / "kernels")) {
    const std::string extension = entry.path().extension();
    if (extension != ".cu" && extension != ".cuh" && extension != ".json") continue;
    INFO(entry.path());
    CHECK(embedded.contains(entry.path().lexically_relative(kRoot / "kernels")));
  }
}

TEST_CASE("every problem suite is embedded byte for byte") {
  check_files(embedded_config_files(), kRoot / "configs/problems");
}

TEST_CASE("known configs are embedded byte for byte") {
  check_files(embedded_known_files(), kRoot / "configs/known");
}

TEST_CASE("recorded journals are embedded as the gzip files they are") {
  for (const EmbeddedFile& file : embedded_recorded_files()) {
    INFO(file.path);
    CHECK(file.text == bytes_of(kRoot / file.path));
    CHECK(file.text.substr(0, 2) == "\x1f\x8b");
  }
}

}  // namespace
}  // namespace fatune
