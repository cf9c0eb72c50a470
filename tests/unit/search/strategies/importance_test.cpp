// importance_test.cpp: Tests importance on functions with known shares of the variance.
#include "search/strategies/importance.hpp"

#include <algorithm>
#include <cmath>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "sample_lattice.hpp"
#include "search/strategies/rng.hpp"

namespace fatune {
namespace {

using Catch::Approx;
using test::lattice_of;
using Function = std::function<std::optional<double>(const Point&)>;

ParameterImportance importance_of(const Lattice& space, const Function& cost) {
  std::vector<Point> points;
  std::vector<std::optional<double>> costs;
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    points.push_back(space.point(i));
    costs.push_back(cost(points.back()));
  }
  return parameter_importance(space.axes(), points, costs);
}

double share_of(const ParameterImportance& importance, std::string_view name) {
  for (const auto& single : importance.singles) {
    if (single.name == name) return single.share;
  }
  return -1;
}

double share_of(const ParameterImportance& importance, std::string_view first,
                std::string_view second) {
  for (const auto& pair : importance.pairs) {
    if (pair.first == first && pair.second == second) return pair.share;
  }
  return -1;
}

double sum_of_shares(const ParameterImportance& importance) {
  double sum = importance.rest;
  for (const auto& single : importance.singles) sum += single.share;
  for (const auto& pair : importance.pairs) sum += pair.share;
  return sum;
}

TEST_CASE("a sum of effects is explained by its parameters alone") {
  // Variances: 5 * (16 - 1) / 60 ... of 3 P0 with four values 9 * 1.25, of 2 P1 with three 4 * 2/3.
  const Lattice space = lattice_of({4, 3, 5, 1});
  const auto importance =
      importance_of(space, [](const Point& p) { return 3.0 * p[0] + 2.0 * p[1]; });
  const double total = 9 * 1.25 + 4 * 2.0 / 3;
  CHECK(share_of(importance, "P0") == Approx(9 * 1.25 / total).margin(0.03));
  CHECK(share_of(importance, "P1") == Approx(4 * 2.0 / 3 / total).margin(0.03));
  CHECK(share_of(importance, "P2") < 0.01);
  CHECK(share_of(importance, "P3") < 1e-9);
  CHECK(share_of(importance, "P0", "P1") < 0.02);
  CHECK(importance.singles.front().name == "P0");
  CHECK(importance.pairs.size() == 6);
  CHECK(importance.measured == 60);
  CHECK(importance.failed == 0);
  CHECK(sum_of_shares(importance) == Approx(1));
}

TEST_CASE("a product of centred effects is explained by the pair alone") {
  const Lattice space = lattice_of({5, 5, 4});
  const auto importance =
      importance_of(space, [](const Point& p) { return (p[0] - 2.0) * (p[1] - 2.0); });
  CHECK(share_of(importance, "P0", "P1") > 0.9);
  CHECK(share_of(importance, "P0") < 0.05);
  CHECK(share_of(importance, "P2") < 0.02);
  CHECK(importance.pairs.front().first == "P0");
  CHECK(importance.pairs.front().second == "P1");
}

TEST_CASE("a product of effects is shared between parameters and pair") {
  // (1 + x)(1 + y), x and y in 0..3: means 2.5, variances 1.25; singles 6.25 * 1.25, pair 1.25^2.
  const Lattice space = lattice_of({4, 4, 3, 3});
  const auto importance =
      importance_of(space, [](const Point& p) { return (1.0 + p[0]) * (1.0 + p[1]); });
  const double total = 2 * 6.25 * 1.25 + 1.25 * 1.25;
  CHECK(share_of(importance, "P0") == Approx(6.25 * 1.25 / total).margin(0.04));
  CHECK(share_of(importance, "P1") == Approx(6.25 * 1.25 / total).margin(0.04));
  CHECK(share_of(importance, "P0", "P1") == Approx(1.25 * 1.25 / total).margin(0.03));
}

TEST_CASE("words are grouped by what they do, not by their place in the list") {
  std::vector<Axis> axes = test::axes_of({6, 3});
  axes[0].ordinal = false;
  std::vector<Point> points;
  std::vector<std::optional<double>> costs;
  for (std::uint16_t a = 0; a < 6; ++a) {
    for (std::uint16_t b = 0; b < 3; ++b) {
      points.push_back({a, b});
      costs.push_back(a % 2 == 0 ? 1.0 : 2.0);
    }
  }
  const auto importance = parameter_importance(axes, points, costs);
  CHECK(share_of(importance, "P0") > 0.97);
}

TEST_CASE("a sample that dwells in one corner gives the shares of the whole space") {
  const Lattice space = lattice_of({6, 6, 4});
  Rng rng(7);
  std::vector<Point> points;
  std::vector<std::optional<double>> costs;
  for (int i = 0; i < 2000; ++i) {
    const bool dwells = rng.chance(0.8);
    Point p = {static_cast<std::uint16_t>(rng.below(dwells ? 2 : 6)),
               static_cast<std::uint16_t>(rng.below(dwells ? 2 : 6)),
               static_cast<std::uint16_t>(rng.below(4))};
    costs.push_back(2.0 * p[0] + p[1] + 0.01 * rng.unit());
    points.push_back(std::move(p));
  }
  const auto importance = parameter_importance(space.axes(), points, costs);
  CHECK(share_of(importance, "P0") == Approx(0.8).margin(0.05));
  CHECK(share_of(importance, "P1") == Approx(0.2).margin(0.05));
}

TEST_CASE("failures are left out and counted; values seen only in them do not count") {
  const Lattice space = lattice_of({4, 4});
  const auto importance = importance_of(space, [](const Point& p) -> std::optional<double> {
    if (p[0] == 3) return std::nullopt;
    return p[0] == 0 ? 1.0 : 2.0;
  });
  CHECK(importance.measured == 12);
  CHECK(importance.failed == 4);
  CHECK(share_of(importance, "P0") > 0.97);
}

TEST_CASE("where nothing varies or nothing was measured, nothing is explained") {
  const Lattice space = lattice_of({4, 4});
  for (const Function& cost : {Function([](const Point&) { return 5.0; }),
                               Function([](const Point&) { return std::nullopt; })}) {
    const auto importance = importance_of(space, cost);
    CHECK(importance.singles.size() == 2);
    CHECK(sum_of_shares(importance) == 0);
  }
  const auto one = parameter_importance(space.axes(), std::vector<Point>{{1, 1}},
                                        std::vector<std::optional<double>>{3.0});
  CHECK(one.measured == 1);
  CHECK(sum_of_shares(one) == 0);
  CHECK(parameter_importance({}, {}, {}).singles.empty());
}

}  // namespace
}  // namespace fatune
