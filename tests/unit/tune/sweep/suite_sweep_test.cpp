// suite_sweep_test.cpp - one config or a few for all problems of a suite, on a formula.
#include <algorithm>
#include <set>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "sweep_fixture.hpp"
#include "tune/sweep/problem_sweep.hpp"

namespace fatune {
namespace {

using test::FakeEvaluator;
using test::number;
using test::SweepFixture;

NamedProblem of_length(const std::string& name, std::int64_t length) {
  Problem problem = test::test_problem();
  problem.seq_q = problem.seq_kv = length;
  return {name, problem};
}

/// TILE 1 to 8 with the default 4, and a MODE that changes little. "small" likes small tiles,
/// "large" large ones; in the middle it matters less.
struct SuiteFixture : SweepFixture {
  test::FakeDevice device;

  SuiteFixture() {
    kernels = {test::make_kernel(
        {.axes = {{"TILE", "[1, 2, 3, 4, 5, 6, 7, 8]", "4"}, {"MODE", "[0, 1, 2]", "0"}}})};
    options.plan.problems = {of_length("small", 256), of_length("middle", 512),
                             of_length("large", 1024)};
    device.cost_on = [](const Config& config, const Problem& problem) {
      const double tile = number(config, "TILE"), mode = number(config, "MODE");
      const double wanted = problem.seq_q == 256 ? 4 : problem.seq_q == 512 ? 5 : 7;
      const double slope = problem.seq_q == 256 ? 0.1 : problem.seq_q == 512 ? 0.02 : 0.2;
      return 10 * (1 + slope * std::abs(tile - wanted)) * (1 + 0.01 * mode);
    };
  }
  static const SuiteEntry& first(const SweepResult& result) {
    REQUIRE(result.choice);
    REQUIRE_FALSE(result.choice->configs.empty());
    return result.choice->configs.front();
  }
  static std::size_t tried(const SweepResult& result, std::size_t problem) {
    return result.problems[problem].candidates.size();
  }
};

TEST_CASE("the most informative problem is in the middle, then come those that may disagree") {
  const std::vector<NamedProblem> problems = {of_length("a", 128), of_length("b", 512),
                                              of_length("c", 4096), of_length("d", 1024)};
  CHECK(by_information(problems) == std::vector<std::size_t>{1, 2, 0, 3});
  CHECK(by_information({}).empty());
}

TEST_CASE("one config: a search, then races in which clear losers drop out") {
  SuiteFixture fixture;
  fixture.options.plan.configs = 1;
  FakeEvaluator evaluator(fixture.device);
  const SweepResult result = fixture.run_well(evaluator);
  const SuiteEntry& winner = SuiteFixture::first(result);
  // The product of the three costs is least for a tile of 7, which loses clearly on "small".
  CHECK(winner.config.at("TILE") == 6);
  CHECK(winner.config.at("MODE") == 0);
  CHECK(winner.problems == std::vector<std::string>{"small", "middle", "large"});
  CHECK(*winner.speedup == Catch::Approx(std::cbrt(1.6 / 1.44)));
  CHECK(result.choice->order == std::vector<std::string>{"middle", "small", "large"});
  for (const ProblemResult& problem : result.problems) {
    REQUIRE(problem.best() != nullptr);
    CHECK(problem.best()->config == winner.config);
  }
  CHECK(SuiteFixture::tried(result, 1) == 24);
  CHECK(SuiteFixture::tried(result, 0) < SuiteFixture::tried(result, 1));
  CHECK(SuiteFixture::tried(result, 2) < SuiteFixture::tried(result, 0));
  const auto& configs = result.choice->configs;
  CHECK(std::any_of(configs.begin(), configs.end(), [](const SuiteEntry& config) {
    return config.turned_down.starts_with("clear loss on small: ");
  }));
  const Json best = best_json(result);
  CHECK(best.at("choice").at("configs").at(0).at("config") == winner.config);
  CHECK(best.at("problems").size() == 3);
}

TEST_CASE("a config that fails on one problem cannot be the one for all") {
  SuiteFixture fixture;
  fixture.options.plan.configs = 1;
  fixture.kernels = {test::make_kernel({.axes = {{"TILE", "[1, 2, 3, 4, 5, 6, 7, 8]", "4"}},
                                        .rules = {"TILE != 5 || SEQ_Q != 1024"}})};
  FakeEvaluator evaluator(fixture.device);
  const SweepResult result = fixture.run_well(evaluator);
  CHECK(SuiteFixture::first(result).config.at("TILE") != 5);
  const auto& configs = result.choice->configs;
  const auto failed = std::find_if(configs.begin(), configs.end(), [](const SuiteEntry& config) {
    return config.config.at("TILE") == 5;
  });
  REQUIRE(failed != configs.end());
  CHECK(failed->turned_down == "not measured on large: no valid config there");
}

TEST_CASE("where each is wrong at some problem, none is the one for all, and that is said") {
  SuiteFixture fixture;
  fixture.options.plan.configs = 1;
  fixture.device.wrong_at_last = [](const Problem& problem) { return problem.seq_q == 1024; };
  FakeEvaluator evaluator(fixture.device);
  const SweepResult result = fixture.run_well(evaluator);
  REQUIRE(result.choice);
  for (const SuiteEntry& config : result.choice->configs) CHECK_FALSE(config.turned_down.empty());
  CHECK(SuiteFixture::first(result).turned_down ==
        "fails in the final phase at large: edge problem: accuracy");
}

TEST_CASE("a default config without a time where the search is cannot be the one for all") {
  SuiteFixture fixture;
  fixture.options.plan.configs = 1;
  fixture.kernels = {test::make_kernel({.axes = {{"TILE", "[1, 2, 3, 4, 5, 6, 7, 8]", "4"}},
                                        .rules = {"TILE != 4 || SEQ_Q != 512"}})};
  fixture.device.cost_on = [](const Config& config, const Problem&) {
    return 10 + 0.01 * number(config, "TILE");
  };
  FakeEvaluator evaluator(fixture.device);
  const SweepResult result = fixture.run_well(evaluator);
  CHECK(SuiteFixture::first(result).config.at("TILE") == 1);
  const auto& configs = result.choice->configs;
  const auto usual = std::find_if(configs.begin(), configs.end(), [](const SuiteEntry& config) {
    return config.config.at("TILE") == 4;
  });
  REQUIRE(usual != configs.end());
  CHECK(usual->turned_down == "not measured on middle: no valid config there");
}

TEST_CASE("a config that is slower than the default on two problems is turned down") {
  SuiteFixture fixture;
  fixture.options.plan.configs = 1;
  // TILE 8 wins by far where the search is, and loses a little on both of the others.
  fixture.device.cost_on = [](const Config& config, const Problem& problem) {
    const bool large = number(config, "TILE") == 8;
    if (problem.seq_q == 512) return large ? 5.0 : 6.0;
    return large ? 11.5 : 10.0 + 0.01 * number(config, "TILE");
  };
  FakeEvaluator evaluator(fixture.device);
  const SweepResult result = fixture.run_well(evaluator);
  CHECK(SuiteFixture::first(result).config.at("TILE") != 8);
  const auto& configs = result.choice->configs;
  CHECK(std::any_of(configs.begin(), configs.end(), [](const SuiteEntry& config) {
    return config.config.at("TILE") == 8 &&
           config.turned_down == "more than 10 % slower than the default config on small, large";
  }));
}

TEST_CASE("a portfolio serves each problem with the best of its configs") {
  SuiteFixture fixture;
  fixture.options.plan.configs = 2;
  FakeEvaluator evaluator(fixture.device);
  const SweepResult result = fixture.run_well(evaluator);
  REQUIRE(result.choice);
  std::set<int> tiles;
  for (const SuiteEntry& config : result.choice->configs) {
    CHECK(config.turned_down.empty());
    tiles.insert(config.config.at("TILE").get<int>());
  }
  CHECK(tiles == std::set<int>{4, 7});
  CHECK(result.problems[0].best()->config.at("TILE") == 4);
  CHECK(result.problems[2].best()->config.at("TILE") == 7);
  // No problem has a row that is neither chosen, default nor baseline.
  for (const ProblemResult& problem : result.problems) CHECK(problem.finals.size() == 3);
}

TEST_CASE("a suite that was interrupted goes on to the same result") {
  for (const std::uint64_t configs : {1U, 2U}) {
    SuiteFixture whole, cut;
    whole.options.plan.configs = cut.options.plan.configs = configs;
    FakeEvaluator undisturbed(whole.device);
    whole.run_well(undisturbed);
    auto device = cut.device;
    device.on_result = [](std::size_t done) {
      if (done == 30) request_interrupt();
    };
    FakeEvaluator interrupted_one(device);
    CHECK(cut.run_well(interrupted_one).interrupted);
    clear_interrupt();
    cut.options.resume = true;
    FakeEvaluator rest(cut.device);
    CHECK_FALSE(cut.run_well(rest).interrupted);
    CHECK(interrupted_one.evaluated().size() + rest.evaluated().size() ==
          undisturbed.evaluated().size());
    CHECK(cut.text("best.json") == whole.text("best.json"));
  }
}

}  // namespace
}  // namespace fatune
