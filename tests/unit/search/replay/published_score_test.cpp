// published_score_test.cpp: Tests budgets and scores of the published method on artificial spaces.
#include <cmath>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "recordings.hpp"
#include "search/replay/score.hpp"

namespace fatune {
namespace {

using Catch::Approx;
using test::make_rugged_recording;

Landscape landscape_of(const Recording& recording) {
  std::vector<std::optional<double>> costs;
  for (const RecordedEntry& entry : recording.entries) costs.push_back(entry.cost);
  auto landscape = Landscape::build(costs, "test");
  REQUIRE(landscape);
  return *std::move(landscape);
}

PublishedMethod method_of(const Recording& recording) {
  auto method = PublishedMethod::of(recording, landscape_of(recording));
  REQUIRE(method);
  return *std::move(method);
}

TEST_CASE("the budget ends where random search reaches the cut-off") {
  // The costs are 1 to 1000. The cut-off value is 1 + 499.5 * 0.05 = 25.975, at index 975 of the
  // costs sorted from the worst. Hence ceil(975 / 26) = 38 evaluations of a second each.
  const PublishedMethod method = method_of(make_rugged_recording(1000, 0));
  CHECK(method.budget_evaluations() == 38);
  CHECK(method.budget_seconds() == 38);
}

TEST_CASE("random search scores about nothing and an oracle nearly 1") {
  const Recording recording = make_rugged_recording(1000, 0);
  const PublishedMethod method = method_of(recording);
  RunOptions options{.strategy = "random", .repeats = 1000, .jobs = 1};
  options.most_seconds = method.budget_seconds();
  const auto runs = run_repeats(recording, method.seconds(), options);
  REQUIRE(runs);
  CHECK(std::abs(method.score(runs->traces, recording)) < 0.1);

  Trace oracle;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    if (recording.entries[i].cost == 1.0) oracle.insert(oracle.begin(), i);
    if (oracle.empty() || i > 0) oracle.push_back(i);
  }
  oracle.resize(38);
  CHECK(method.score({oracle}, recording) > 0.9);
}

TEST_CASE("runs that found nothing score below random search") {
  const Recording recording = make_rugged_recording(1000, 0);
  std::uint32_t worst = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    if (recording.entries[i].cost == 1000.0) worst = i;
  }
  CHECK(method_of(recording).score({{worst}, {}}, recording) < -0.5);
}

TEST_CASE("files without times, small spaces and spaces without spread have no published score") {
  Recording untimed = make_rugged_recording(100, 0);
  for (RecordedEntry& entry : untimed.entries) entry.seconds.reset();
  CHECK_FALSE(PublishedMethod::of(untimed, landscape_of(untimed)));
  const Recording tiny = make_rugged_recording(15, 0);  // seven evaluations
  CHECK_FALSE(PublishedMethod::of(tiny, landscape_of(tiny)));
  const Recording flat = test::make_recording({50}, [](const Point&) { return 2.0; });
  CHECK_FALSE(PublishedMethod::of(flat, landscape_of(flat)));
}

TEST_CASE("configs whose time the file leaves out take the median") {
  Recording recording = make_rugged_recording(1000, 0);
  for (std::size_t i = 0; i < 1000; ++i) recording.entries[i].seconds = i < 500 ? 2.0 : 4.0;
  recording.entries[999].seconds.reset();
  CHECK(method_of(recording).seconds()[999] == 2);
}

}  // namespace
}  // namespace fatune
