// values.cpp: Reads the values of a parameter or size: numbers, ranges and words.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "model/declaring/declaration.hpp"
#include "model/kernel/manifest.hpp"

namespace fatune {
namespace {

Error no_value(std::string_view text) {
  return usage_error(fmt::format(
      "'{}' is no value; write 1,2,4, 1..8, 128..1024:64, 32..1024:*2, or words", text));
}

/// Appends the numbers of "A..B", "A..B:STEP" or "A..B:*FACTOR".
Status add_range(std::string_view text, Json& values) {
  const std::size_t dots = text.find("..");
  const std::size_t colon = std::min(text.find(':'), text.size());
  std::string_view step = colon < text.size() ? trim(text.substr(colon + 1)) : "1";
  const bool factor = step.starts_with('*');
  if (factor) step = trim(step.substr(1));
  const auto first = parse_integer(trim(text.substr(0, dots)));
  const auto last = parse_integer(trim(text.substr(dots + 2, colon - dots - 2)));
  const auto by = parse_integer(step);
  if (!first || !last || !by) return no_value(text);
  if (*by < (factor ? 2 : 1))
    return usage_error(fmt::format("'{}' must step by {} or more", text, factor ? 2 : 1));
  if (*last < *first || (factor && *first < 1))
    return usage_error(fmt::format("'{}' has no values, as it does not ascend", text));
  for (std::int64_t value = *first; values.size() <= kMostValues;) {
    values.push_back(value);
    if (factor ? value > *last / *by : value > *last - *by) break;
    value = factor ? value * *by : value + *by;
  }
  return {};
}

}  // namespace

Result<Json> parse_values(std::string_view text) {
  Json values = Json::array();
  for (const std::string& part : split_outside(text, ',')) {
    if (part.find("..") != std::string::npos) {
      FATUNE_TRY_STATUS(add_range(part, values));
    } else if (const auto number = parse_integer(part)) {
      values.push_back(*number);
    } else if (part == "true" || part == "false") {
      values.push_back(part == "true");
    } else if (matches(part, "[A-Za-z_][A-Za-z0-9_-]*")) {
      values.push_back(part);
    } else {
      return no_value(part);
    }
    if (values.size() > kMostValues)
      return usage_error(fmt::format("'{}' has more than {} values", text, kMostValues));
  }
  return values.empty() ? Result<Json>(no_value(text)) : Result<Json>(std::move(values));
}

}  // namespace fatune
