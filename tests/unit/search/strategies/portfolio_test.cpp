// portfolio_test.cpp - greedy choices worked out by hand.
#include "search/strategies/portfolio.hpp"

#include <cmath>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

namespace fatune {
namespace {

using Catch::Approx;
using Costs = std::vector<std::optional<double>>;

const std::vector<SuiteEntry> kThree = {{{"all-rounder"}, Costs{12, 24, 36}},
                                        {{"short"}, Costs{10, 40, 60}},
                                        {{"long"}, Costs{20, 20, 30}}};

TEST_CASE("one config is the one of least geomean ratio") {
  const Portfolio portfolio = choose_portfolio(kThree, 1);
  REQUIRE(portfolio.chosen.size() == 1);
  CHECK(portfolio.chosen[0].config == 0);
  CHECK(portfolio.chosen[0].geomean == Approx(1.2));
  CHECK(portfolio.chosen[0].served == 3);
  REQUIRE(portfolio.served.size() == 3);
  for (const auto& served : portfolio.served) {
    REQUIRE(served);
    CHECK(served->config == 0);
    CHECK(served->ratio == Approx(1.2));
  }
}

TEST_CASE("further configs fill in where the first are weak") {
  const Portfolio portfolio = choose_portfolio(kThree, 3);
  REQUIRE(portfolio.chosen.size() == 3);
  CHECK(portfolio.chosen[1].config == 2);
  CHECK(portfolio.chosen[1].geomean == Approx(std::cbrt(1.2)));
  CHECK(portfolio.chosen[2].config == 1);
  CHECK(portfolio.chosen[2].geomean == Approx(1.0));
  CHECK(portfolio.served[0]->config == 1);
  CHECK(portfolio.served[1]->config == 2);
  CHECK(portfolio.served[2]->ratio == Approx(1.0));
}

TEST_CASE("a config that helps nothing is not chosen") {
  const std::vector<SuiteEntry> configs = {{{"best"}, Costs{1, 1}}, {{"worse"}, Costs{2, 1}}};
  const Portfolio portfolio = choose_portfolio(configs, 5);
  REQUIRE(portfolio.chosen.size() == 1);
  CHECK(portfolio.chosen[0].config == 0);
}

TEST_CASE("serving more problems goes before serving some better") {
  const std::vector<SuiteEntry> configs = {{{"fragile"}, Costs{1, 1, std::nullopt}},
                                           {{"sturdy"}, Costs{3, 3, 3}}};
  const Portfolio portfolio = choose_portfolio(configs, 2);
  REQUIRE(portfolio.chosen.size() == 2);
  CHECK(portfolio.chosen[0].config == 1);
  CHECK(portfolio.chosen[0].served == 3);
  CHECK(portfolio.chosen[1].config == 0);
  CHECK(portfolio.chosen[1].geomean == Approx(1.0));
  CHECK(portfolio.served[2]->config == 1);
}

TEST_CASE("a problem that no config can do is served by none and counts for nothing") {
  const std::vector<SuiteEntry> configs = {{{"a"}, Costs{2, std::nullopt}},
                                           {{"b"}, Costs{1, std::nullopt}}};
  const Portfolio portfolio = choose_portfolio(configs, 1);
  REQUIRE(portfolio.chosen.size() == 1);
  CHECK(portfolio.chosen[0].config == 1);
  CHECK(portfolio.chosen[0].served == 1);
  CHECK_FALSE(portfolio.served[1]);
}

TEST_CASE("of equals the first name is chosen, in any order of the list") {
  const SuiteEntry a{{"a"}, Costs{1, 2}}, b{{"b"}, Costs{2, 1}};
  CHECK(choose_portfolio(std::vector{a, b}, 1).chosen[0].config == 0);
  CHECK(choose_portfolio(std::vector{b, a}, 1).chosen[0].config == 1);
}

TEST_CASE("nothing to choose from, or to choose, is an empty portfolio") {
  CHECK(choose_portfolio({}, 3).chosen.empty());
  CHECK(choose_portfolio(kThree, 0).chosen.empty());
  const std::vector<SuiteEntry> failed = {{{"a"}, Costs{std::nullopt}}};
  CHECK(choose_portfolio(failed, 2).chosen.empty());
}

}  // namespace
}  // namespace fatune
