// external_output.cpp - the line that a program prints to microseconds.
#include <cmath>
#include <optional>
#include <regex>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "worker/protocol/external_description.hpp"

namespace fatune {
namespace {

constexpr std::size_t kLongestLine = 4096;  // the regular expressions' recursion is bounded by it

/// The library's exception becomes an error here.
Result<std::regex> compile_pattern(const std::string& pattern, const std::string& where) {
  try {
    return std::regex(pattern, std::regex::ECMAScript);
  } catch (const std::regex_error& problem) {
    return file_error(where + ": '" + pattern + "' is no regular expression: " + problem.what());
  }
}

Result<std::size_t> group(const Fields& fields, std::string_view key, std::int64_t fallback,
                          std::size_t groups) {
  FATUNE_TRY(const std::int64_t number, fields.integer_or(key, fallback));
  if (number < 0 || static_cast<std::size_t>(number) > groups)
    return fields.error(key, fmt::format("is group {}; the pattern has {}", number, groups));
  return static_cast<std::size_t>(number);
}

Result<double> unit_in_us(const Fields& fields) {
  FATUNE_TRY(const std::string unit, fields.text_or("unit", "us"));
  if (unit == "us") return 1.0;
  if (unit == "ms") return 1e3;
  if (unit == "s") return 1e6;
  return fields.error("unit", "is '" + unit + "'; there are us, ms, s");
}

/// Empty for no such group, or one that took no part in the match.
std::optional<double> number_in(const std::smatch& match, std::size_t which) {
  if (which == 0 || !match[which].matched) return std::nullopt;
  return parse_number(match[which].str()).value_or(std::nan(""));
}

bool is_time(const std::optional<double>& value) {
  return value && std::isfinite(*value) && *value > 0;
}

Result<ExternalTimes> times_of(const std::smatch& match, const ExternalOutput& how) {
  const auto complain = [&](const std::string& problem) {
    return device_error(problem + " in '" + std::string(trim(match.str())) + "'");
  };
  const auto hot = number_in(match, how.hot), cold = number_in(match, how.cold);
  if (!is_time(hot) || (cold && !is_time(cold))) return complain("there is a time that is none");
  ExternalTimes times;
  times.hot_us = *hot * how.unit_us;
  if (cold) times.cold_us = *cold * how.unit_us;
  times.tflops = number_in(match, how.tflops);
  times.error = number_in(match, how.error);
  // Written so that NaN is above every limit.
  if (times.error && how.error_limit && !(*times.error <= *how.error_limit)) {
    return complain(fmt::format("its own check found an error of {:.3g}, above {:.3g},",
                                *times.error, *how.error_limit));
  }
  return times;
}

}  // namespace

Json to_json(const ExternalOutput& output) {
  Json object = {{"pattern", output.pattern}, {"unit_us", output.unit_us}, {"hot_us", output.hot},
                 {"cold_us", output.cold},    {"tflops", output.tflops},   {"error", output.error}};
  if (output.error_limit) object["error_limit"] = *output.error_limit;
  return object;
}

Result<ExternalOutput> external_output_from_json(const Fields& fields) {
  FATUNE_TRY_STATUS(fields.only(
      {"pattern", "unit", "unit_us", "hot_us", "cold_us", "tflops", "error", "error_limit"}));
  ExternalOutput output;
  FATUNE_TRY(output.pattern, fields.text("pattern"));
  FATUNE_TRY(const std::regex pattern, compile_pattern(output.pattern, fields.where()));
  const std::size_t groups = pattern.mark_count();
  FATUNE_TRY(output.hot, group(fields, "hot_us", 1, groups));
  if (output.hot == 0) return fields.error("hot_us", "must name a group of the pattern");
  FATUNE_TRY(output.cold, group(fields, "cold_us", 0, groups));
  FATUNE_TRY(output.tflops, group(fields, "tflops", 0, groups));
  FATUNE_TRY(output.error, group(fields, "error", 0, groups));
  FATUNE_TRY(const double unit, unit_in_us(fields));
  FATUNE_TRY(output.unit_us, fields.number_or("unit_us", unit));
  if (fields.has("error_limit")) {
    FATUNE_TRY(output.error_limit, fields.number("error_limit"));
  }
  return output;
}

Result<ExternalTimes> read_external_output(std::string_view text, const ExternalOutput& how) {
  FATUNE_TRY(const std::regex pattern, compile_pattern(how.pattern, "the pattern of times"));
  for (const std::string& line : split(text, '\n')) {
    std::smatch match;
    if (line.size() > kLongestLine || !std::regex_search(line, match, pattern)) continue;
    return times_of(match, how);
  }
  const std::string_view trimmed = trim(text);
  return device_error(trimmed.empty()
                          ? std::string("it printed nothing")
                          : "no line matches its description's pattern; it printed '" +
                                std::string(trimmed.substr(0, trimmed.find('\n'))) + "'");
}

}  // namespace fatune
