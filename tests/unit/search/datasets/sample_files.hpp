// sample_files.hpp: Writes small result files for tests of readers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"
#include "search/datasets/recording.hpp"
#include "support/temporary_folder.hpp"

namespace fatune::test {

inline std::filesystem::path data_file(const std::string& name) {
  return std::filesystem::path(FATUNE_TEST_DATA_DIR) / "recording" / name;
}

inline Result<std::vector<Recording>> read_text(const std::string& text,
                                                const std::string& name = "file.json") {
  const TemporaryFolder folder;
  REQUIRE(replace_file(folder / name, text));
  return read_recordings(folder / name);
}

/// The one recording of a text that must be readable.
inline Recording recording_of(const std::string& text) {
  auto recordings = read_text(text);
  if (!recordings) FAIL(recordings.error().message);
  REQUIRE(recordings->size() == 1);
  return std::move(recordings->front());
}

inline Recording recording_in(const std::string& name) {
  auto recordings = read_recordings(data_file(name));
  if (!recordings) FAIL(recordings.error().message);
  REQUIRE(recordings->size() == 1);
  return std::move(recordings->front());
}

/// Returns the message of a failed read, without the folder.
inline std::string error_of(const std::string& text) {
  const auto recordings = read_text(text);
  REQUIRE_FALSE(recordings);
  CHECK(recordings.error().kind == ErrorKind::kFile);
  const std::string& message = recordings.error().message;
  return message.substr(message.find("file.json"));
}

/// A Kernel Tuner cache of the parameters A (1, 2, 4) and W (x, y), given its lines.
inline std::string cache_of(const std::string& entries, const std::string& end = "}\n}",
                            const std::string& objective = "time") {
  return R"({"device_name": "GPU", "kernel_name": "k", "problem_size": [8, 4],
"tune_params_keys": ["A", "W"], "tune_params": {"A": [4, 1, 2], "W": ["y", "x"]},
"objective": ")" +
         objective + R"(", "cache": {)" + entries + end;
}

inline std::string entry(int a, const std::string& w, const std::string& rest) {
  return "\n\"" + std::to_string(a) + "," + w + "\": {\"A\": " + std::to_string(a) + ", \"W\": \"" +
         w + "\", " + rest + "}";
}

inline std::size_t failures(const Recording& recording, const std::string& what) {
  std::size_t count = 0;
  for (const RecordedEntry& each : recording.entries) count += each.failure == what ? 1 : 0;
  return count;
}

inline std::optional<double> best_of(const Recording& recording) {
  std::optional<double> best;
  for (const RecordedEntry& each : recording.entries) {
    if (each.cost && (!best || *each.cost < *best)) best = each.cost;
  }
  return best;
}

}  // namespace fatune::test
