// committed_test.cpp: Checks that every committed journal is rewritten byte for byte.
#include <filesystem>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/text.hpp"
#include "model/results/journal.hpp"

using namespace fatune;

namespace {

std::vector<std::filesystem::path> committed_journals() {
  const std::filesystem::path root(FATUNE_SOURCE_DIR);
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "results")) {
    if (entry.path().filename() == "journal.jsonl.gz") paths.push_back(entry.path());
  }
  for (const auto& entry : std::filesystem::directory_iterator(root / "configs/recorded"))
    paths.push_back(entry.path());
  return paths;
}

/// The line without its checksum, which older ones have not.
std::string without_checksum(const std::string& line) {
  const std::size_t seal = line.rfind(R"(,"crc":")");
  return seal == std::string::npos ? line : line.substr(0, seal) + "}";
}

/// The line as this fatune writes it, but for its checksum.
std::string rewritten(const std::string& line, bool header) {
  const auto json = parse_json(line, "line");
  REQUIRE(json);
  if (!header) {
    const auto record = read_value<Record>(*json, "line");
    INFO((record ? "" : record.error().message));
    REQUIRE(record);
    return dump(to_json(*record));
  }
  const auto read = read_value<JournalHeader>(*json, "line");
  REQUIRE(read);
  return dump(to_json(*read));
}

}  // namespace

TEST_CASE("the lines of every committed journal are written as they were") {
  const auto paths = committed_journals();
  CHECK(paths.size() >= 6);
  for (const auto& path : paths) {
    CAPTURE(path);
    const auto text = read_file(path, kLargeFile);
    REQUIRE(text);
    std::vector<std::string> lines = split(*text, '\n');
    REQUIRE(lines.back().empty());
    lines.pop_back();
    // Long journals are sampled, but for all lines near both ends.
    const std::size_t step = lines.size() < 1000 ? 1 : 5;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (i % step != 0 && i > 100 && i + 100 < lines.size()) continue;
      if (rewritten(lines[i], i == 0) != without_checksum(lines[i]))
        FAIL(i + 1 << ": " << lines[i]);
    }
  }
}
