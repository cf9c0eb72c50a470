// fast_p_test.cpp: Checks which problems count, and for which p.
#include "model/results/fast_p.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"

using namespace fatune;

namespace {

ProblemResult result(Outcome outcome, std::optional<double> ratio) {
  ProblemResult made;
  FinalRecord& best = made.finals.emplace_back();
  best.role = RowRole::kFinalist;
  best.outcome = outcome;
  made.standings.emplace_back();
  if (ratio) made.gate = Gate{.baseline = "cudnn", .ratio = {*ratio, *ratio, *ratio}};
  return made;
}

}  // namespace

TEST_CASE("a speed-up is the baseline's time over the best's") {
  CHECK(speedup_of(result(Outcome::kMeasured, 0.5)) == 2.0);
  CHECK(speedup_of(result(Outcome::kWrongResult, std::nullopt)) == 0.0);
  CHECK_FALSE(speedup_of(result(Outcome::kMeasured, std::nullopt)));
  CHECK_FALSE(speedup_of(ProblemResult()));
}

TEST_CASE("fast_p is the share above p") {
  CHECK_FALSE(fast_p({}));
  const std::vector<double> speedups = {0, 0.7, 1.0, 1.6};
  const auto found = fast_p(speedups);
  REQUIRE(found);
  CHECK(dump(to_json(*found)) ==
        R"({"problems":4,"shares":[{"p":0.0,"share":0.75},{"p":0.5,"share":0.75},)"
        R"({"p":0.8,"share":0.5},{"p":1.0,"share":0.25},{"p":1.5,"share":0.25},)"
        R"({"p":2.0,"share":0.0}]})");
}
