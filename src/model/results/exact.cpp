// exact.cpp - doubles to JSON numbers or words, and back.
#include "model/results/exact.hpp"

#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fatune {
namespace {

std::optional<double> read(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

constexpr const char* kWanted = "must be a number, \"inf\", \"-inf\" or \"nan\"";

}  // namespace

Json exact(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

Json exact(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(exact(value));
  return list;
}

Result<double> exact_number(const Fields& fields, std::string_view key) {
  FATUNE_TRY(const Json* found, fields.value(key));
  const auto value = read(*found);
  if (!value) return fields.error(key, kWanted);
  return *value;
}

Result<double> exact_number_or(const Fields& fields, std::string_view key, double fallback) {
  if (!fields.has(key)) return fallback;
  return exact_number(fields, key);
}

Result<std::vector<double>> exact_numbers_or_empty(const Fields& fields, std::string_view key) {
  std::vector<double> values;
  if (!fields.has(key)) return values;
  FATUNE_TRY(const Json* found, fields.value(key));
  if (!found->is_array()) return fields.error(key, "must be a list of numbers");
  for (const Json& item : *found) {
    const auto value = read(item);
    if (!value) return fields.error(fmt::format("{}[{}]", key, values.size()), kWanted);
    values.push_back(*value);
  }
  return values;
}

}  // namespace fatune
