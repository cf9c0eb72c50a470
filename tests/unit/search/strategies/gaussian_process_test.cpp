// gaussian_process_test.cpp: Tests predictions against values computed by hand.
#include "search/strategies/gaussian_process.hpp"

#include <algorithm>
#include <cmath>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "sample_lattice.hpp"

namespace fatune {
namespace {

using test::lattice_of;

Catch::Approx near(double value) { return Catch::Approx(value).margin(2e-5); }

/// One axis of three numbers with slope 0.8 and almost no step. Squared distances are 0.2 and 0.8,
/// so sqrt(5 d^2) is 1 and 2. (1 + z + z^2 / 3) exp(-z) gives correlations 0.858385 and 0.586453.
Hyperparameters line() { return {{std::log(0.8), -40}, std::log(0.01)}; }

TEST_CASE("beliefs are those of the textbook's formulas") {
  GaussianProcess process(lattice_of({3}));
  process.set(line());
  process.observe(std::vector<Point>{{0}, {2}}, std::vector<double>{1, 3});
  const auto predictions = process.predict(std::vector<Point>{{0}, {1}, {2}});
  // The values less their mean, (-1, 1), are an eigenvector: of 1.01 - 0.586453 = 0.423547.
  // Hence the variance 1 / 0.423547 = 2.361014.
  CHECK(predictions[0].mean == near(2 - (1 - 0.586453) / 0.423547));
  CHECK(predictions[1].mean == near(2));
  CHECK(predictions[2].mean == near(2 + (1 - 0.586453) / 0.423547));
  // In the middle both correlations are alike: an eigenvector of 1.01 + 0.586453.
  const double explained = 2 * 0.858385 * 0.858385 / 1.596453;
  CHECK(predictions[1].deviation == near(std::sqrt(2.361014 * (1 - explained))));
  CHECK(predictions[0].deviation < 0.2 * predictions[1].deviation + 0.2);
}

TEST_CASE("points observed one by one give the beliefs of all at once") {
  const Lattice space = lattice_of({6, 5, 2});
  std::vector<Point> points;
  std::vector<double> values;
  GaussianProcess stepwise(space);
  for (std::uint64_t i = 0; i < space.size(); i += 4) {
    points.push_back(space.point(i));
    values.push_back(std::cos(static_cast<double>(i)));
    stepwise.observe(points, values);
  }
  GaussianProcess whole(space);
  whole.observe(points, values);
  const std::vector<Point> elsewhere = {space.point(1), space.point(30), space.point(59)};
  const auto expected = whole.predict(elsewhere);
  const auto found = stepwise.predict(elsewhere);
  for (std::size_t i = 0; i < elsewhere.size(); ++i) {
    CHECK(found[i].mean == near(expected[i].mean));
    CHECK(found[i].deviation == near(expected[i].deviation));
  }
}

TEST_CASE("observing fewer points forgets the others") {
  const Lattice space = lattice_of({3});
  GaussianProcess process(space);
  process.set(line());
  process.observe(std::vector<Point>{{0}, {2}, {1}}, std::vector<double>{1, 3, 9});
  process.observe(std::vector<Point>{{0}, {2}}, std::vector<double>{1, 3});
  CHECK(process.predict(std::vector<Point>{{1}})[0].mean == near(2));
}

TEST_CASE("beliefs do not depend on what was asked about before") {
  const Lattice space = lattice_of({6, 5, 2});
  std::vector<Point> points;
  std::vector<double> values;
  GaussianProcess asked_often(space);
  std::vector<Prediction> found;
  std::vector<Point> candidates;
  for (std::uint64_t i = 0; i + 9 < space.size(); i += 3) {
    points.push_back(space.point(i));
    values.push_back(std::cos(static_cast<double>(i)));
    // Backwards, so that what is kept moves; forwards would leave it where it is.
    candidates.clear();
    for (std::uint64_t j = 9; j > 0; --j) candidates.push_back(space.point(i + j));
    asked_often.observe(points, values);
    found = asked_often.predict(candidates);
  }
  GaussianProcess asked_once(space);
  asked_once.observe(points, values);
  const auto expected = asked_once.predict(candidates);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    CHECK(found[i].mean == near(expected[i].mean));
    CHECK(found[i].deviation == near(expected[i].deviation));
  }
  // Other observations, as many of them and the first ones the same.
  std::reverse(points.begin() + 5, points.end());
  asked_often.observe(points, values);
  asked_once.set(asked_once.hyperparameters());
  asked_once.observe(points, values);
  CHECK(asked_often.predict(candidates)[4].mean == near(asked_once.predict(candidates)[4].mean));
}

TEST_CASE("a point in flight changes no mean and makes its surroundings surer") {
  const Lattice space = lattice_of({9});
  GaussianProcess process(space);
  process.observe(std::vector<Point>{{0}, {8}}, std::vector<double>{1, 3});
  const std::vector<Point> candidates = {{3}, {4}, {7}};
  const auto before = process.predict(candidates);
  process.observe(std::vector<Point>{{0}, {8}, {4}}, std::vector<double>{1, 3});
  const auto after = process.predict(candidates);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    CHECK(after[i].mean == near(before[i].mean));
    CHECK(after[i].deviation < before[i].deviation);
  }
  CHECK(after[1].deviation < 0.2 * before[1].deviation);
}

TEST_CASE("learning tells an axis that matters from one that does not") {
  const Lattice space = lattice_of({8, 8});
  std::vector<Point> points;
  std::vector<double> values;
  for (std::uint64_t i = 0; i < space.size(); i += 3) {
    points.push_back(space.point(i));
    values.push_back(std::sin(points.back()[0]));
  }
  GaussianProcess process(space);
  process.learn(points, values);
  process.learn(points, values);
  const auto weights = process.hyperparameters().weights;
  REQUIRE(weights.size() == 4);
  CHECK(weights[0] > weights[2] + 3);
  process.observe(points, values);
  const auto predictions = process.predict(std::vector<Point>{{2, 7}, {5, 0}});
  CHECK(std::abs(predictions[0].mean - std::sin(2)) < 0.1);
  CHECK(std::abs(predictions[1].mean - std::sin(5)) < 0.1);
}

TEST_CASE("values that are all the same teach nothing and break nothing") {
  GaussianProcess process(lattice_of({4, 4}));
  const std::vector<Point> points = {{0, 0}, {3, 3}, {1, 2}};
  const std::vector<double> values = {5, 5, 5};
  const auto before = process.hyperparameters().weights;
  process.learn(points, values);
  CHECK(process.hyperparameters().weights == before);
  process.observe(points, values);
  const Prediction prediction = process.predict(std::vector<Point>{{2, 0}})[0];
  CHECK(prediction.mean == near(5));
  CHECK(prediction.deviation > 0);
}

TEST_CASE("expected improvement is that of the normal distribution") {
  CHECK(log_expected_improvement({0, 1}, 0) == near(std::log(0.3989423)));
  // 0.5 (density(2) - 2 mass(-2)) = 0.5 (0.0539910 - 2 * 0.0227501)
  CHECK(log_expected_improvement({1, 0.5}, 0) == near(std::log(0.00424535)));
  CHECK(log_expected_improvement({-5, 1e-3}, 0) == near(std::log(5)));
}

TEST_CASE("hopeless candidates are still ranked") {
  double last = log_expected_improvement({5, 1}, 0);
  for (double mean = 5.1; mean < 60; mean += 0.1) {
    const double next = log_expected_improvement({mean, 1}, 0);
    CHECK(next < last);
    CHECK(next > last - 10);
    last = next;
  }
}

}  // namespace
}  // namespace fatune
