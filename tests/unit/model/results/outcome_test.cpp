// outcome_test.cpp: Checks that every outcome has its own name and is parsed from that name.
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "model/results/measurement.hpp"

using namespace fatune;

TEST_CASE("every outcome has its own name and is found by it") {
  std::set<std::string_view> names;
  for (const Outcome outcome : kAllOutcomes) {
    names.insert(name(outcome));
    CHECK(*parse_outcome(name(outcome)) == outcome);
  }
  CHECK(names.size() == kAllOutcomes.size());
  CHECK(name(Outcome::kWrongResult) == "wrong_result");
  CHECK(parse_outcome("fine").error().message == "outcome 'fine' is unknown");
}
