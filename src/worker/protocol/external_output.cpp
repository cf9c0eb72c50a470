// external_output.cpp - the line that a program prints to microseconds.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <regex>
#include <utility>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "worker/protocol/external_description.hpp"

namespace fatune {
namespace {

constexpr std::size_t kLongestLine = 4096;  // the regular expressions' recursion is bounded by it

/// The library's exception becomes an error here.
Result<std::regex> compile_pattern(const std::string& pattern) {
  try {
    return std::regex(pattern, std::regex::ECMAScript);
  } catch (const std::regex_error& problem) {
    return file_error(fmt::format("'{}' is no regular expression: {}", pattern, problem.what()));
  }
}

constexpr std::array<std::pair<std::string_view, double>, 3> kUnits = {
    {{"us", 1.0}, {"ms", 1e3}, {"s", 1e6}}};

const double* find_unit(std::string_view unit) {
  const auto found = std::ranges::find(kUnits, unit, [](const auto& each) { return each.first; });
  return found == kUnits.end() ? nullptr : &found->second;
}

/// Empty for no such group, or one that took no part in the match.
std::optional<double> number_in(const std::smatch& match, std::int64_t which) {
  const auto group = static_cast<std::size_t>(which);
  if (group == 0 || !match[group].matched) return std::nullopt;
  return parse_number(match[group].str()).value_or(std::nan(""));
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
  const double unit_us = how.unit_us ? *how.unit_us : *find_unit(how.unit);
  times.hot_us = *hot * unit_us;
  if (cold) times.cold_us = *cold * unit_us;
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

void fields(ExternalOutput& x, FieldList& f) {
  f.closed();
  f("pattern", x.pattern).required();
  f("unit", x.unit);
  f("unit_us", x.unit_us).finite();
  const std::pair<const char*, std::int64_t*> groups[] = {
      {"hot_us", &x.hot}, {"cold_us", &x.cold}, {"tflops", &x.tflops}, {"error", &x.error}};
  for (const auto& [key, number] : groups) f(key, *number);
  f("error_limit", x.error_limit).finite();
  f.rule("", [&x] {
    const auto pattern = compile_pattern(x.pattern);
    return pattern ? "" : pattern.error().message;
  });
  for (const auto& [key, number] : groups) {
    f.rule(key, [&x, number = number] {
      const auto most = static_cast<std::int64_t>(compile_pattern(x.pattern)->mark_count());
      if (*number >= 0 && *number <= most) return std::string();
      return fmt::format("is group {}; the pattern has {}", *number, most);
    });
  }
  f.rule("hot_us", [&x] { return x.hot == 0 ? "must name a group of the pattern" : ""; });
  f.rule("unit", [&x] {
    return find_unit(x.unit) ? "" : fmt::format("is '{}'; there are us, ms, s", x.unit);
  });
}

Result<ExternalTimes> read_external_output(std::string_view text, const ExternalOutput& how) {
  FATUNE_TRY(const std::regex pattern, compile_pattern(how.pattern));
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
