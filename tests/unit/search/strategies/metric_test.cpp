// metric_test.cpp: Tests the weights of a lattice's metric and the distances from them.
#include <cmath>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "search/strategies/gaussian_process.hpp"

namespace fatune {
namespace {

/// Numbers, words, two numbers, and a parameter of one value.
Lattice mixed() {
  return Lattice({{"TILE", 5, true}, {"REDUCE", 3, false}, {"STAGES", 2, true}, {"FIXED", 1, true}},
                 {0, 1});
}

double squared_distance(const Metric& metric, const Point& a, const Point& b) {
  float distance = -1;
  metric.squared_distances(a, {&b, 1}, {&distance, 1});
  return static_cast<double>(distance);
}

TEST_CASE("only a number with more than two values has a slope, and one value has no weight") {
  const Metric metric(mixed());
  REQUIRE(metric.weighted_axes().size() == 3);
  CHECK(metric.weighted_axes()[0].slope != WeightedAxis::kNone);
  CHECK(metric.weighted_axes()[1].slope == WeightedAxis::kNone);
  CHECK(metric.weighted_axes()[2].slope == WeightedAxis::kNone);
  CHECK(metric.weights().size() == 4);
  CHECK(metric.weights() == metric.usual_weights());
}

TEST_CASE("a squared distance is the sum of steps and slopes of the axes that differ") {
  Metric metric(mixed());
  std::vector<double> weights(4);
  weights[metric.weighted_axes()[0].slope] = std::log(8.0);
  weights[metric.weighted_axes()[0].step] = std::log(0.5);
  weights[metric.weighted_axes()[1].step] = std::log(3.0);
  weights[metric.weighted_axes()[2].step] = std::log(7.0);
  metric.set_weights(weights);
  CHECK(squared_distance(metric, {2, 1, 0, 0}, {2, 1, 0, 0}) == 0);
  CHECK(squared_distance(metric, {1, 0, 0, 0}, {2, 0, 0, 0}) == Catch::Approx(0.5 + 8.0 / 16));
  CHECK(squared_distance(metric, {4, 0, 0, 0}, {0, 0, 0, 0}) == Catch::Approx(0.5 + 8.0));
  CHECK(squared_distance(metric, {0, 0, 0, 0}, {0, 2, 0, 0}) == Catch::Approx(3.0));
  CHECK(squared_distance(metric, {0, 1, 0, 0}, {4, 2, 1, 0}) == Catch::Approx(18.5));
}

TEST_CASE("a lattice of one config has no distances to weigh") {
  const Metric metric(Lattice({{"FIXED", 1, true}}, {0}));
  CHECK(metric.weighted_axes().empty());
  CHECK(squared_distance(metric, {0}, {0}) == 0);
}

}  // namespace
}  // namespace fatune
