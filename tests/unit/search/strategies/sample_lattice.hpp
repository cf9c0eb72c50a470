// sample_lattice.hpp: Makes lattices without a kernel, and strategies on them.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "model/space/lattice.hpp"
#include "search/strategies/strategy.hpp"

namespace fatune::test {

inline std::vector<Axis> axes_of(const std::vector<std::size_t>& sizes) {
  std::vector<Axis> axes;
  for (const std::size_t size : sizes) axes.push_back({"P" + std::to_string(axes.size()), size});
  return axes;
}

/// The points of a grid for which `valid` holds.
inline Lattice lattice_of(const std::vector<std::size_t>& sizes,
                          const std::function<bool(const Point&)>& valid = nullptr) {
  std::vector<std::uint64_t> codes;
  Point point(sizes.size(), 0);
  for (std::uint64_t code = 0;; ++code) {
    if (!valid || valid(point)) codes.push_back(code);
    std::size_t axis = sizes.size();
    while (axis > 0 && ++point[axis - 1] == sizes[axis - 1]) point[--axis] = 0;
    if (axis == 0) return Lattice(axes_of(sizes), std::move(codes));
  }
}

/// One valley: every axis has its optimum in the middle. Least cost 10.
inline double valley(const Lattice& space, const Point& point) {
  double cost = 10;
  for (std::size_t axis = 0; axis < point.size(); ++axis) {
    const double best = std::floor(static_cast<double>(space.axes()[axis].size) / 2);
    cost *= 1 + 0.15 * std::abs(point[axis] - best);
  }
  return cost;
}

inline std::unique_ptr<Strategy> strategy_on(const Lattice& space, std::string_view name,
                                             StrategyOptions options = {}) {
  auto made = make_strategy(name, space, options);
  REQUIRE(made);
  return *std::move(made);
}

}  // namespace fatune::test
