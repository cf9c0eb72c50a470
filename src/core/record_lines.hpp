// record_lines.hpp: Reads files of JSON lines, each a record of one type, and opens them for more.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/append_file.hpp"
#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/lines.hpp"

namespace fatune {

/// Calls `take(record, place)`, which returns a Status, for each line that is not empty. A partial
/// last line, left by a killed process, is ignored. `place` is "line 3 of FILE".
template <typename T, typename Take>
Status read_record_lines(std::string_view text, const std::string& where, const Take& take) {
  std::size_t number = 0;
  for (const std::string_view line : Lines(text.substr(0, text.rfind('\n') + 1))) {
    ++number;
    if (line.empty()) continue;
    const std::string place = fmt::format("line {} of {}", number, where);
    FATUNE_TRY(const Json json, parse_json(line, place));
    FATUNE_TRY(T record, read_value<T>(json, place));
    FATUNE_TRY_STATUS(take(std::move(record), place));
  }
  return {};
}

/// Opens a file for appending, which no other process may have open. Reads its records as
/// read_record_lines() does, and removes a partial last line.
template <typename T, typename Take>
Result<AppendFile> open_record_lines(const std::filesystem::path& path, std::size_t limit,
                                     const Take& take) {
  FATUNE_TRY(AppendFile file, AppendFile::open(path));
  FATUNE_TRY_STATUS(file.lock_exclusively());
  FATUNE_TRY(const std::string text, read_file(path, limit));
  FATUNE_TRY_STATUS(read_record_lines<T>(text, path.string(), take));
  // The file may begin with a byte-order mark, which the text has no more.
  FATUNE_TRY(const std::uint64_t bytes, file.size());
  FATUNE_TRY_STATUS(file.cut(bytes - (text.size() - (text.rfind('\n') + 1))));
  return file;
}

}  // namespace fatune
