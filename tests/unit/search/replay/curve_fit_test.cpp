// curve_fit_test.cpp: Tests isotonic regression and monotone cubics on small cases.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "search/replay/score.hpp"

namespace fatune {
namespace {

using Catch::Approx;

TEST_CASE("isotonic regression pools what violates the order") {
  const IsotonicCurve curve({{1, 1}, {2, 3}, {3, 2}, {4, 2.5}, {5, 6}});
  CHECK(curve.at(1) == 1);
  CHECK(curve.at(2) == Approx(2.5));  // 3, 2 and 2.5 share their mean
  CHECK(curve.at(3) == Approx(2.5));
  CHECK(curve.at(4) == Approx(2.5));
  CHECK(curve.at(4.5) == Approx(4.25));
  CHECK(curve.at(0) == 1);
  CHECK(curve.at(9) == 6);
}

TEST_CASE("isotonic regression takes samples in any order and averages those of one x") {
  const IsotonicCurve curve({{2, 4}, {1, 0}, {2, 8}, {1, 2}});
  CHECK(curve.at(1) == 1);
  CHECK(curve.at(2) == 6);
  CHECK(curve.at(1.5) == 3.5);
}

TEST_CASE("isotonic regression of falling samples is their mean") {
  const IsotonicCurve curve({{1, 9}, {2, 6}, {3, 3}});
  for (const double x : {0.0, 1.0, 2.2, 5.0}) CHECK(curve.at(x) == Approx(6));
}

TEST_CASE("the best non-decreasing fit is the one of least squares") {
  // All levels from a fine grid, three samples.
  const std::vector<Sample> samples = {{1, 0.7}, {2, 0.2}, {3, 0.6}};
  const IsotonicCurve curve(samples);
  const auto error = [&](double a, double b, double c) {
    return (a - 0.7) * (a - 0.7) + (b - 0.2) * (b - 0.2) + (c - 0.6) * (c - 0.6);
  };
  const double found = error(curve.at(1), curve.at(2), curve.at(3));
  for (int a = 0; a <= 20; ++a) {
    for (int b = a; b <= 20; ++b) {
      for (int c = b; c <= 20; ++c) {
        CHECK(found <= error(0.05 * a, 0.05 * b, 0.05 * c) + 1e-12);
      }
    }
  }
}

TEST_CASE("a monotone cubic meets its knots and does not overshoot") {
  const MonotoneCubic curve({{0, 10}, {1, 9}, {2, 2}, {4, 2}, {5, 1}});
  CHECK(curve.at(0) == 10);
  CHECK(curve.at(1) == Approx(9));
  CHECK(curve.at(2) == Approx(2));
  CHECK(curve.at(3) == Approx(2));  // flat where the knots are
  double before = 10;
  for (double x = 0; x <= 5; x += 0.01) {
    CHECK(curve.at(x) <= before + 1e-12);
    before = curve.at(x);
  }
  CHECK(curve.at(-1) == 10);
  CHECK(curve.at(7) == 1);
}

TEST_CASE("a monotone cubic between known slopes") {
  // Worked by hand: the middle slope is the harmonic mean 4/3, the ends are 1/2 and 5/2.
  const MonotoneCubic curve({{0, 0}, {1, 1}, {2, 3}});
  CHECK(curve.at(0.5) == Approx(0.5 + (0.5 - 4.0 / 3) / 8));
  CHECK(curve.at(1.5) == Approx(2 + (4.0 / 3 - 2.5) / 8));
  const MonotoneCubic line({{0, 1}, {2, 5}});
  CHECK(line.at(0.5) == Approx(2));
}

}  // namespace
}  // namespace fatune
