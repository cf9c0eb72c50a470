// intervals_test.cpp: Tests bootstrap and Wilson intervals against independent values.
#include <vector>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "search/replay/score.hpp"

namespace fatune {
namespace {

using Catch::Approx;

TEST_CASE("the interval of a mean is about two standard errors wide on each side") {
  std::vector<double> samples;
  for (int i = 0; i < 400; ++i) samples.push_back(i % 20);
  const Estimate mean = mean_estimate(samples, 3);
  const double error = standard_error(samples);
  CHECK(mean.value == Approx(9.5));
  CHECK(error == Approx(0.28868).epsilon(1e-3));
  CHECK(mean.low == Approx(9.5 - 1.96 * error).margin(0.03));
  CHECK(mean.high == Approx(9.5 + 1.96 * error).margin(0.03));
  const Estimate again = mean_estimate(samples, 3);
  CHECK((again.low == mean.low && again.high == mean.high));
}

TEST_CASE("one sample has itself as interval") {
  const Estimate mean = mean_estimate(std::vector<double>{4}, 1);
  CHECK((mean.low == 4 && mean.value == 4 && mean.high == 4));
  CHECK(standard_error(std::vector<double>{4}) == 0);
}

TEST_CASE("Wilson's interval of a share") {
  // Textbook values, to three digits.
  const Estimate half = share_estimate(50, 100);
  CHECK(half.value == 0.5);
  CHECK(half.low == Approx(0.404).margin(5e-4));
  CHECK(half.high == Approx(0.596).margin(5e-4));
  const Estimate none = share_estimate(0, 10);
  CHECK(none.low == 0);
  CHECK(none.high == Approx(0.278).margin(5e-4));
  const Estimate all = share_estimate(10, 10);
  CHECK(all.low == Approx(0.722).margin(5e-4));
  CHECK(all.high == Approx(1));
}

}  // namespace
}  // namespace fatune
