// ranking_test.cpp: Tests the order of candidates and shared places.
#include <catch2/catch_test_macros.hpp>

#include "report/text/report_text.hpp"
#include "sample_candidates.hpp"

namespace fatune {
namespace {

std::vector<std::size_t> places(const std::vector<CandidateRecord>& candidates) {
  std::vector<std::size_t> places;
  for (const Ranked& ranked : rank_candidates(candidates, "hot")) places.push_back(ranked.place);
  return places;
}

TEST_CASE("only measured candidates have a place, the fastest the first") {
  const auto candidates = test::sample_candidates();
  const auto ranked = rank_candidates(candidates, "hot");
  REQUIRE(ranked.size() == 3);
  CHECK(ranked[0].record->id == "id64");
  CHECK(ranked[2].record->id == "id16");
  CHECK(rank_candidates(candidates, "cold").empty());
}

TEST_CASE("medians within two standard errors of their difference share a place") {
  CHECK(places({test::measured(1, 10.0, 0.01), test::measured(2, 10.2, 0.01)}) ==
        std::vector<std::size_t>{1, 1});
  CHECK(places({test::measured(1, 10.0, 0.001), test::measured(2, 10.2, 0.001)}) ==
        std::vector<std::size_t>{1, 2});
}

TEST_CASE("a chain of neighbours does not make the ends equal") {
  CHECK(places({test::measured(1, 10.0, 0.005), test::measured(2, 10.1, 0.005),
                test::measured(3, 10.2, 0.005)}) == std::vector<std::size_t>{1, 1, 3});
}

}  // namespace
}  // namespace fatune
