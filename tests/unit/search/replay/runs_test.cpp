// runs_test.cpp: Tests budgets, failures, batches and threads of replayed runs.
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "recordings.hpp"
#include "search/replay/score.hpp"
#include "search/strategies/strategy.hpp"

namespace fatune {
namespace {

using test::make_recording;
using test::make_rugged_recording;

Runs run(const Recording& recording, const RunOptions& options,
         const std::vector<double>& seconds = {}) {
  auto runs = run_repeats(recording, seconds, options);
  REQUIRE(runs);
  return *std::move(runs);
}

TEST_CASE("a run uses its budget and tries nothing twice, failures included") {
  const Recording recording = make_rugged_recording(60, 3);
  for (const StrategyInfo& info : strategies()) {
    for (const std::size_t batch : {1U, 4U, 16U}) {
      CAPTURE(info.name, batch);
      const Runs runs = run(recording, {.strategy = std::string(info.name),
                                        .repeats = 3,
                                        .budget = 25,
                                        .batch = batch,
                                        .jobs = 1});
      REQUIRE(runs.traces.size() == 3);
      for (const Trace& trace : runs.traces) {
        CHECK(trace.size() == 25);
        CHECK(std::set<std::uint32_t>(trace.begin(), trace.end()).size() == 25);
      }
    }
  }
}

TEST_CASE("a budget of more than the space ends with the space") {
  const Recording recording = make_rugged_recording(12, 0);
  for (const std::size_t batch : {1U, 5U}) {
    const Runs runs =
        run(recording, {.strategy = "random", .repeats = 2, .budget = 500, .batch = batch});
    for (const Trace& trace : runs.traces) CHECK(trace.size() == 12);
  }
}

TEST_CASE("the number of threads changes nothing, the seed and the repeat do") {
  const Recording recording = make_recording(
      {8, 8, 8}, [](const Point& p) { return 1.0 + p[0] * 2.0 + p[1] * p[2] * 0.5; });
  RunOptions options{.strategy = "ga", .repeats = 9, .budget = 60};
  options.jobs = 1;
  const Runs one = run(recording, options);
  options.jobs = 4;
  CHECK(run(recording, options).traces == one.traces);
  CHECK(one.traces[0] != one.traces[1]);
  options.seed = 43;
  CHECK(run(recording, options).traces != one.traces);
}

TEST_CASE("a strategy that wants few in flight is not asked for more") {
  const Recording recording = make_rugged_recording(200, 0);
  RunOptions options{.strategy = "evo", .repeats = 2, .budget = 60};
  options.batch = 10;
  const auto few = run(recording, options).traces;
  options.batch = 1000;
  CHECK(run(recording, options).traces == few);
  options.batch = 1;
  CHECK(run(recording, options).traces != few);
}

TEST_CASE("a limit of time ends a run instead of the budget") {
  const Recording recording = make_rugged_recording(50, 0);
  const std::vector<double> seconds(50, 2.0);
  RunOptions options{.strategy = "random", .repeats = 1, .budget = 5};
  options.most_seconds = 19;
  CHECK(run(recording, options, seconds).traces[0].size() == 10);
  options.most_seconds = 1e9;
  CHECK(run(recording, options, seconds).traces[0].size() == 50);
}

TEST_CASE("an unknown strategy is a usage error") {
  const auto runs = run_repeats(make_rugged_recording(5, 0), {}, {.strategy = "gaa"});
  REQUIRE_FALSE(runs);
  CHECK(runs.error().kind == ErrorKind::kUsage);
}

}  // namespace
}  // namespace fatune
