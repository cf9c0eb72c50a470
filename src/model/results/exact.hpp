// exact.hpp - floating-point fields to JSON and back without loss, infinities and NaN included.
#pragma once

#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"

namespace fatune {

/// A number; "inf", "-inf" or "nan" where JSON has none.
Json exact(double value);
Json exact(const std::vector<double>& values);
Result<double> exact_number(const Fields& fields, std::string_view key);
Result<double> exact_number_or(const Fields& fields, std::string_view key, double fallback);
Result<std::vector<double>> exact_numbers_or_empty(const Fields& fields, std::string_view key);

}  // namespace fatune
