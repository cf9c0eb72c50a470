// shard_sweep_test.cpp: Checks that results of a shard do not depend on the division.
#include <catch2/catch_test_macros.hpp>

#include "shard_fixture.hpp"

namespace fatune {
namespace {

using test::FakeEvaluator;
using test::ShardFixture;

/// Clears times, which depend on earlier problems.
std::vector<FinalRecord> without_moments(std::vector<FinalRecord> finals) {
  for (FinalRecord& record : finals) record.at_s = 0;
  return finals;
}

TEST_CASE("a problem's search and result are the same in every dealing") {
  ShardFixture whole;
  const SweepResult expected = whole.run_shard(1, 1);
  REQUIRE(expected.problems.size() == 5);
  for (const std::uint64_t of : {2U, 5U}) {
    std::size_t seen = 0;
    for (std::uint64_t number = 1; number <= of; ++number) {
      ShardFixture fixture;
      const SweepResult part = fixture.run_shard(number, of);
      for (const ProblemResult& result : part.problems) {
        CAPTURE(of, number, result.problem.name);
        const auto same =
            std::ranges::find(expected.problems, result.problem.problem,
                              [](const ProblemResult& each) { return each.problem.problem; });
        REQUIRE(same != expected.problems.end());
        REQUIRE(result.candidates.size() == same->candidates.size());
        for (std::size_t i = 0; i < result.candidates.size(); ++i)
          CHECK(result.candidates[i].key == same->candidates[i].key);
        CHECK(without_moments(result.finals) == without_moments(same->finals));
        CHECK(result.warm_starts.empty());
        ++seen;
      }
    }
    CHECK(seen == 5);
  }
}

TEST_CASE("without shards a search begins with what was best before, in a shard it does not") {
  ShardFixture fixture;
  FakeEvaluator evaluator(fixture.device);
  const SweepResult carried = fixture.run_well(evaluator);
  CHECK_FALSE(carried.problems.back().warm_starts.empty());
  ShardFixture apart;
  CHECK(apart.run_shard(1, 1).problems.back().warm_starts.empty());
}

TEST_CASE("the journal of a shard says which part of which plan it has, also when resumed") {
  ShardFixture fixture;
  fixture.run_shard(2, 2);
  const auto journal = load_journal(fixture.options.out / "journal.jsonl");
  REQUIRE(journal);
  const auto& shard = journal->header.plan.shard;
  REQUIRE(shard);
  CHECK(describe(*shard) == "2/2");
  CHECK(shard->plan == plan_hash(journal->header.plan));
  CHECK(journal->header.plan.problems.size() == 5);

  const std::string best = fixture.text("best.json");
  fixture.options.resume = true;
  fixture.run_shard(2, 2);
  CHECK(fixture.text("best.json") == best);
  CHECK(load_journal(fixture.options.out / "journal.jsonl")->header.plan.shard->plan ==
        shard->plan);

  fixture.choose(1, 2);
  fixture.options.out = fixture.folder_of(2, 2);
  FakeEvaluator evaluator(fixture.device);
  const auto other = fixture.run(evaluator);
  REQUIRE_FALSE(other);
  CHECK(other.error().message.find("--shard is '2/2' in the journal and '1/2' here") !=
        std::string::npos);
}

}  // namespace
}  // namespace fatune
