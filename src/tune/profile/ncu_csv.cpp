// ncu_csv.cpp - lines to fields, fields to numbers in our units.
#include "tune/profile/ncu_csv.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/text.hpp"
#include "tune/profile/metrics.hpp"

namespace fatune {
namespace {

/// Units of ncu's base and scaled pages, old names and new, to microseconds and bytes.
constexpr std::pair<const char*, double> kUnits[] = {
    {"ns", 1e-3},      {"nsecond", 1e-3}, {"us", 1},       {"usecond", 1}, {"ms", 1e3},
    {"msecond", 1e3},  {"s", 1e6},        {"second", 1e6}, {"sec", 1e6},   {"byte", 1},
    {"byte/block", 1}, {"Kbyte", 1e3},    {"Mbyte", 1e6},  {"Gbyte", 1e9}, {"Kbyte/block", 1e3},
};

double unit_factor(const std::string& unit) {
  for (const auto& [name, factor] : kUnits) {
    if (unit == name) return factor;
  }
  return 1;
}

std::optional<double> number_of(const std::string& field) {
  std::string digits;
  std::copy_if(field.begin(), field.end(), std::back_inserter(digits),
               [](char c) { return c != ',' && c != ' '; });
  const auto value = parse_number(digits);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

class Titles {
 public:
  explicit Titles(std::vector<std::string> names) : names_(std::move(names)) {}
  bool has(const std::string& name) const {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  }
  /// Empty when there is no such column, or the row ends before it.
  std::string field(const std::vector<std::string>& row, const std::string& name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    const auto at = static_cast<std::size_t>(found - names_.begin());
    return at < row.size() ? row[at] : std::string();
  }

 private:
  std::vector<std::string> names_;
};

Counters counters_of(const Titles& titles, const std::vector<std::string>& units,
                     const std::vector<std::string>& row) {
  Counters counters;
  counters.kernel = titles.field(row, "Kernel Name");
  for (const NcuMetric& metric : all_metrics()) {
    const auto value = number_of(titles.field(row, metric.ncu));
    if (value) counters.*metric.field = *value * unit_factor(titles.field(units, metric.ncu));
  }
  return counters;
}

std::vector<std::string> absent_of(const std::vector<std::string>& asked,
                                   const std::vector<Counters>& launches) {
  std::vector<std::string> absent;
  for (const NcuMetric& metric : all_metrics()) {
    if (std::find(asked.begin(), asked.end(), metric.ncu) == asked.end()) continue;
    const bool everywhere =
        std::all_of(launches.begin(), launches.end(),
                    [&](const Counters& counters) { return (counters.*metric.field).has_value(); });
    if (!everywhere) absent.emplace_back(metric.ncu);
  }
  return absent;
}

}  // namespace

std::vector<std::string> csv_fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

Result<NcuTable> parse_ncu_csv(std::string_view text, const std::vector<std::string>& asked) {
  std::optional<Titles> titles;
  std::vector<std::string> units;
  NcuTable table;
  for (const std::string& line : split(text, '\n')) {
    if (trim(line).empty() || line.starts_with("==")) continue;
    std::vector<std::string> fields = csv_fields(line);
    if (!titles) {
      Titles candidate(std::move(fields));
      if (candidate.has("ID") && candidate.has("Kernel Name")) titles.emplace(std::move(candidate));
    } else if (titles->field(fields, "ID").empty()) {
      units = std::move(fields);
    } else {
      table.launches.push_back(counters_of(*titles, units, fields));
    }
  }
  if (table.launches.empty()) {
    return environment_error(titles ? "ncu profiled no launch" : "ncu printed no table of metrics");
  }
  table.absent = absent_of(asked, table.launches);
  return table;
}

}  // namespace fatune
