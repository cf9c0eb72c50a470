// score_test.cpp: Tests the score P of runs whose score is known.
#include "search/replay/score.hpp"

#include <numeric>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "recordings.hpp"

namespace fatune {
namespace {

using Catch::Approx;
using test::make_recording;
using test::make_rugged_recording;

constexpr std::uint64_t kBudget = 220;

struct Scored {
  Recording recording;
  Landscape landscape;
  Yardstick yardstick;

  Score score(const std::vector<Trace>& traces, std::uint64_t budget = kBudget) const {
    return score_runs(traces, recording, landscape, yardstick, budget);
  }
  double standard_error_of(const std::vector<Trace>& traces) const {
    return standard_error(scores_of(traces, recording, landscape, yardstick));
  }
};

Scored make_scored(Recording recording, std::uint64_t budget = kBudget) {
  std::vector<std::optional<double>> costs;
  for (const RecordedEntry& entry : recording.entries) costs.push_back(entry.cost);
  auto landscape = Landscape::build(costs, "test");
  REQUIRE(landscape);
  Yardstick yardstick = make_yardstick(*landscape, budget);
  return {std::move(recording), *std::move(landscape), std::move(yardstick)};
}

std::uint32_t index_of_best(const Recording& recording) {
  std::uint32_t best = 0;
  for (std::uint32_t i = 0; i < recording.entries.size(); ++i) {
    const auto& cost = recording.entries[i].cost;
    if (cost && (!recording.entries[best].cost || *cost < *recording.entries[best].cost)) best = i;
  }
  return best;
}

TEST_CASE("an oracle scores 1") {
  const Scored space = make_scored(make_rugged_recording(1000, 7));
  const Score score = space.score({{index_of_best(space.recording)}});
  REQUIRE(score.p);
  CHECK(score.p->value == 1);
  for (const auto& fraction : score.at) CHECK(fraction->value == 1);
  for (const auto& share : score.within) CHECK(share->value == 1);
  CHECK(score.excess.size() == kBudget);
  CHECK(score.excess.back().value == 0);
}

TEST_CASE("random search scores nothing") {
  const Scored space = make_scored(make_rugged_recording(2000, 5));
  const auto runs =
      run_repeats(space.recording, {}, {.strategy = "random", .repeats = 2000, .jobs = 1});
  REQUIRE(runs);
  const Score score = space.score(runs->traces);
  REQUIRE(score.p);
  CHECK(std::abs(score.p->value) < 0.05);
  CHECK(score.p->low < 0);
  CHECK(score.p->high > 0);
  const double error = space.standard_error_of(runs->traces);
  CHECK(score.p->high - score.p->low < 5 * error);
}

TEST_CASE("a run that sees only failures scores as one that found the worst") {
  Recording recording = make_recording({20, 20}, [](const Point& p) -> std::optional<double> {
    if (p[0] == 0) return std::nullopt;
    return 1.0 + p[0] + p[1];
  });
  const Scored space = make_scored(std::move(recording));
  Trace failing(20);
  std::iota(failing.begin(), failing.end(), 0U);  // the row of failures
  const auto worst = static_cast<std::uint32_t>(space.recording.entries.size() - 1);
  REQUIRE(*space.recording.entries[worst].cost == space.landscape.worst());
  CHECK(space.score({failing}).p->value == Approx(space.score({{worst}}).p->value));
  CHECK(space.score({failing}).p->value < 0);
}

TEST_CASE("a failure costs an evaluation") {
  const Scored space = make_scored(make_rugged_recording(400, 2));
  const std::uint32_t best = index_of_best(space.recording);
  Trace late;
  for (std::uint32_t i = 0; i < 100; ++i) late.push_back(2 * i);  // these fail
  late.push_back(best);
  const auto curve = best_so_far(late, space.recording, space.landscape, kBudget);
  CHECK(curve[100] == space.landscape.worst());
  CHECK(curve[101] == space.landscape.optimum());
  CHECK(curve[kBudget] == space.landscape.optimum());
}

TEST_CASE("P is the mean over evaluations of the gain over random search") {
  const Scored space = make_scored(make_rugged_recording(300, 0), 12);
  CHECK(space.yardstick.first == 10);
  CHECK(space.yardstick.last == 12);
  Trace trace(12);
  std::iota(trace.begin(), trace.end(), 0U);
  const auto curve = best_so_far(trace, space.recording, space.landscape, 12);
  double expected = 0;
  for (const std::uint64_t t : {10U, 11U, 12U}) {
    const double random = space.yardstick.expected[t];
    expected += (random - curve[t]) / (random - space.landscape.optimum()) / 3;
  }
  const Score score = space.score({trace}, 12);
  CHECK(score.p->value == Approx(expected));
  CHECK_FALSE(score.at[0]);  // beyond the budget
  CHECK_FALSE(score.within[0]);
}

TEST_CASE("nearness is looked at after a tenth of the space, at least 60 evaluations") {
  const Scored large = make_scored(make_rugged_recording(1001, 0));
  CHECK(near_at(large.landscape) == 101);
  const Scored small = make_scored(make_rugged_recording(100, 0));
  CHECK(near_at(small.landscape) == 60);
  const std::uint32_t best = index_of_best(small.recording);
  Trace late;
  for (std::uint32_t i = 0; late.size() < 60; ++i) {
    if (i != best) late.push_back(i);
  }
  late.push_back(best);
  CHECK(small.score({late, {best}}).near->value == 0.5);
  CHECK_FALSE(small.score({{best}}, 59).near);
  CHECK(small.score({late, {best}}, 60).near_at_end.value == 0.5);
  CHECK(small.score({late, {best}}, 61).near_at_end.value == 1);
}

TEST_CASE("on a space smaller than the budget P ends where random search has the optimum") {
  const Scored space = make_scored(make_rugged_recording(40, 4));
  CHECK(space.yardstick.last == 39);
  const auto runs =
      run_repeats(space.recording, {}, {.strategy = "random", .repeats = 3000, .jobs = 1});
  REQUIRE(runs);
  const Score score = space.score(runs->traces);
  CHECK(std::abs(score.p->value) < 4 * space.standard_error_of(runs->traces));
  CHECK(score.at[3]->value == 1);
}

TEST_CASE("spaces on which nothing can be beaten have no P") {
  const std::vector<Recording> recordings = {
      make_rugged_recording(1, 0), make_rugged_recording(10, 0),
      make_recording({30}, [](const Point&) { return 3.0; })};
  for (const Recording& recording : recordings) {
    const Scored space = make_scored(recording);
    CAPTURE(recording.entries.size());
    CHECK_FALSE(space.yardstick.scores());
    const Score score = space.score({{0}});
    CHECK_FALSE(score.p);
    CHECK(score.within[1]);
  }
}

}  // namespace
}  // namespace fatune
