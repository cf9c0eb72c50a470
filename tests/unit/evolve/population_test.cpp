// population_test.cpp: Tests selection: elites by geomean, regressions, parents and insights.
#include "evolve/run/population.hpp"

#include <cmath>
#include <set>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace fatune;

namespace {

Trial timed(std::int64_t number, const std::vector<double>& times,
            std::vector<std::string> parents) {
  Trial trial;
  trial.number = number;
  trial.key = "k" + std::to_string(number);
  trial.parents = std::move(parents);
  for (std::size_t i = 0; i < times.size(); ++i) {
    ShapeTrial shape;
    shape.problem = "p" + std::to_string(i);
    shape.outcome = Outcome::kMeasured;
    shape.time_us = times[i];
    trial.shapes.push_back(shape);
  }
  return trial;
}

Trial wrong(std::int64_t number, Outcome outcome) {
  Trial trial = timed(number, {100}, {"t0"});
  trial.shapes[0].outcome = outcome;
  trial.shapes[0].time_us.reset();
  trial.shapes[0].reason = "accuracy: off by 3";
  return trial;
}

TrialPopulation begun(const std::vector<double>& times = {100, 100, 100}) {
  TrialPopulation population;
  population.add(timed(0, times, {}));
  return population;
}

std::vector<std::string> ids(const std::vector<const Trial*>& trials) {
  std::vector<std::string> names;
  for (const Trial* each : trials) names.push_back(each->id());
  return names;
}

}  // namespace

TEST_CASE("a trial's speed-up is the geomean over the problems") {
  TrialPopulation population = begun();
  const Trial& trial = population.add(timed(1, {50, 100, 25}, {"t0"}));
  CHECK(trial.speedup.value() == Catch::Approx(2));
  CHECK(trial.gain.value() == Catch::Approx(2));
  CHECK(trial.best.value() == Catch::Approx(2));
  CHECK(trial.verdict == verdict::kElite);
  CHECK(trial.step == step::kSelect);
}

TEST_CASE("three elites, the fastest first; the others are kept") {
  TrialPopulation population = begun();
  population.add(timed(1, {50, 50, 50}, {"t0"}));
  population.add(timed(2, {80, 80, 80}, {"t0"}));
  population.add(timed(3, {40, 40, 40}, {"t0"}));
  CHECK(ids(population.elites()) == std::vector<std::string>{"t3", "t1", "t2"});
  CHECK(population.add(timed(4, {90, 90, 90}, {"t0"})).verdict == verdict::kKept);
  CHECK(population.best().id() == "t3");
  CHECK(population.trials().back().best.value() == Catch::Approx(2.5));
}

TEST_CASE(
    "slower than the parent by more than a tenth on two problems is discarded, on one is not") {
  TrialPopulation population = begun();
  const Trial& two = population.add(timed(1, {112, 112, 10}, {"t0"}));
  CHECK(two.verdict == verdict::kDiscarded);
  CHECK(two.reason == "slower than t0 by more than 10 % on 2 problems");
  CHECK(population.best().id() == "t0");
  CHECK(population.add(timed(2, {112, 109, 50}, {"t0"})).verdict == verdict::kElite);
}

TEST_CASE("the regression is against the parent, not the start") {
  TrialPopulation population = begun();
  population.add(timed(1, {50, 50, 50}, {"t0"}));
  CHECK(population.add(timed(2, {60, 60, 40}, {"t1"})).verdict == verdict::kDiscarded);
}

TEST_CASE("what a gate refuses is invalid, with the step that it reached") {
  TrialPopulation population = begun({100});
  CHECK(population.add(wrong(1, Outcome::kCompileError)).step == step::kCompile);
  const Trial& trial = population.add(wrong(2, Outcome::kWrongResult));
  CHECK(trial.step == step::kCheck);
  CHECK(trial.verdict == verdict::kInvalid);
  CHECK(trial.reason == "p0: wrong_result: accuracy: off by 3");
  CHECK(trial.compiled());
  CHECK_FALSE(population.trials()[1].compiled());
  CHECK(population.failures().size() == 2);
  CHECK(population.elites().size() == 1);
}

TEST_CASE("without times the newest that compiled are the elites") {
  TrialPopulation population(TrialPopulation::RankedBy::kAge);
  for (int i = 0; i < 5; ++i) {
    Trial trial = wrong(i, Outcome::kUnavailable);
    trial.parents.clear();
    population.add(trial);
  }
  CHECK(ids(population.elites()) == std::vector<std::string>{"t4", "t3", "t2"});
  CHECK_FALSE(population.best().speedup.has_value());
}

TEST_CASE(
    "free and insight take the best; full draws by rank, two different ones for a crossover") {
  TrialPopulation population = begun({100});
  population.add(timed(1, {50}, {"t0"}));
  population.add(timed(2, {25}, {"t1"}));
  std::set<std::string> first;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CHECK(ids(population.parents(ProposerMode::kFree, 2, seed)) == std::vector<std::string>{"t2"});
    const auto two = population.parents(ProposerMode::kFull, 2, seed);
    REQUIRE(two.size() == 2);
    CHECK(two[0] != two[1]);
    first.insert(two[0]->id());
  }
  CHECK(first.size() == 3);
}

TEST_CASE("insights carry what a move brought; three are drawn, the same for a seed") {
  TrialPopulation population = begun({100});
  for (int i = 1; i < 6; ++i) {
    Trial trial = i == 3 ? wrong(i, Outcome::kWrongResult) : timed(i, {100.0 / i}, {"t0"});
    trial.lever = "lever" + std::to_string(i);
    trial.insight = "move " + std::to_string(i);
    population.add(trial);
  }
  const auto drawn = population.insights(7);
  REQUIRE(drawn.size() == 3);
  CHECK(drawn == population.insights(7));
  for (const Trial* each : drawn) {
    if (each->id() == "t3") CHECK_FALSE(each->gain.has_value());
    if (each->id() == "t2") CHECK(each->gain.value() == Catch::Approx(2));
  }
}
