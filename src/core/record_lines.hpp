// record_lines.hpp: Reads a file of JSON lines, each a record of one type.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/text.hpp"

namespace fatune {

/// Calls `take(record, place)`, which returns a Status, for each line that is not empty. A partial
/// last line, left by a killed process, is ignored. `place` is "line 3 of FILE".
template <typename T, typename Take>
Status read_record_lines(std::string_view text, const std::string& where, const Take& take) {
  std::size_t number = 0;
  for (const std::string& line : split(text.substr(0, text.rfind('\n') + 1), '\n')) {
    ++number;
    if (line.empty()) continue;
    const std::string place = fmt::format("line {} of {}", number, where);
    FATUNE_TRY(const Json json, parse_json(line, place));
    FATUNE_TRY(T record, from_json<T>(json, place));
    FATUNE_TRY_STATUS(take(std::move(record), place));
  }
  return {};
}

}  // namespace fatune
