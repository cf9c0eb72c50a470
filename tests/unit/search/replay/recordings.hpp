// recordings.hpp: Declares recordings that tests of replay make from formulas.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "search/datasets/recording.hpp"

namespace fatune::test {

using CostFunction = std::function<std::optional<double>(const Point&)>;

/// Every point of ordinal axes with so many values; each takes a second to evaluate.
Recording make_recording(const std::vector<std::size_t>& sizes, const CostFunction& cost);
/// Costs 1 to n in an order without structure; every `failing`-th config fails, none when it is 0.
Recording make_rugged_recording(std::size_t n, std::size_t failing);

}  // namespace fatune::test
