// shard_test.cpp: Checks how problems are dealt to shards, and how a plan holds its shard.
#include <algorithm>
#include <numeric>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "model/results/journal.hpp"
#include "sample_journal.hpp"

namespace fatune {
namespace {

using Places = std::vector<std::uint64_t>;

NamedProblem of_length(std::int64_t length, std::int64_t batch, std::int64_t heads) {
  return {"", Attention{batch, heads, heads, length, length, 128, Dtype::kF16, Mask::kNone}};
}

/// Problems of one length cost the same.
std::vector<NamedProblem> suite() {
  return {of_length(512, 1, 16),  of_length(8192, 2, 16), of_length(512, 16, 1),
          of_length(4096, 1, 16), of_length(2048, 1, 16), of_length(512, 4, 4),
          of_length(8192, 16, 2)};
}

Places dealt(const std::vector<NamedProblem>& problems, std::uint64_t number, std::uint64_t of) {
  const auto shard = deal(problems, number, of);
  REQUIRE(shard);
  CHECK(describe(*shard) == std::to_string(number) + "/" + std::to_string(of));
  return shard->problems;
}

TEST_CASE("each problem is in exactly one shard, however many there are") {
  const auto problems = suite();
  for (std::uint64_t of = 1; of <= problems.size(); ++of) {
    Places all;
    for (std::uint64_t number = 1; number <= of; ++number) {
      const Places places = dealt(problems, number, of);
      CHECK_FALSE(places.empty());
      CHECK(std::ranges::is_sorted(places));
      all.insert(all.end(), places.begin(), places.end());
    }
    std::ranges::sort(all);
    Places expected(problems.size());
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(all == expected);
  }
}

TEST_CASE("the longest problem goes first, to the shard with least to do, and ties go by order") {
  CHECK(dealt(suite(), 1, 2) == Places{1, 2, 3});
  CHECK(dealt(suite(), 2, 2) == Places{0, 4, 5, 6});
  CHECK(dealt(suite(), 1, 4) == Places{1});
  CHECK(dealt(suite(), 2, 4) == Places{6});
  CHECK(dealt(suite(), 3, 4) == Places{2, 3});
  CHECK(dealt(suite(), 4, 4) == Places{0, 4, 5});
}

TEST_CASE("a problem costs more with its work and with its keys") {
  const Attention small = of_length(512, 1, 16).problem.as_attention();
  CHECK(estimated_cost(small) < 1.1);
  CHECK(estimated_cost(of_length(8192, 2, 16).problem) > 1.9);
  Attention decoding = small;
  decoding.seq_q = 1;
  decoding.seq_kv = 131072;
  CHECK(estimated_cost(decoding) > 3);
}

TEST_CASE("a list that has a problem twice is refused, as two shards would have it") {
  auto problems = suite();
  problems.push_back({"again", problems.front().problem});
  const auto shard = deal(problems, 1, 2);
  REQUIRE_FALSE(shard);
  CHECK(shard.error().message.find("again 1,16,512,128 f16 is in the list twice") !=
        std::string::npos);
}

TEST_CASE("more shards than problems are refused, as some would have nothing to do") {
  const auto shard = deal(suite(), 1, 8);
  REQUIRE_FALSE(shard);
  CHECK(shard.error().kind == ErrorKind::kUsage);
  CHECK(shard.error().message.find("8 parts of 7 problems") != std::string::npos);
}

RunPlan plan_of_shard(Places places) {
  RunPlan plan = test::sample_plan();
  plan.shard = Shard{.number = 1, .of = 2, .problems = std::move(places), .plan = "aa"};
  return plan;
}

TEST_CASE("a plan keeps its shard, and has the problems of it") {
  const RunPlan written = plan_of_shard({1});
  const auto plan = read_value<RunPlan>(to_json(written), "plan");
  REQUIRE(plan);
  CHECK(dump(to_json(*plan)) == dump(to_json(written)));
  REQUIRE(shard_problems(*plan).size() == 1);
  CHECK(shard_problems(*plan).front().problem == plan->problems[1].problem);
  CHECK(shard_problems(test::sample_plan()).size() == 2);
}

TEST_CASE("a shard that names what its plan does not have is refused") {
  for (const Places& places : {Places{}, Places{2}, Places{1, 0}, Places{0, 0}}) {
    const auto plan = read_value<RunPlan>(to_json(plan_of_shard(places)), "plan");
    REQUIRE_FALSE(plan);
    CHECK(plan.error().message.find("shard") != std::string::npos);
  }
  Json third = to_json(plan_of_shard({0}));
  third["shard"]["number"] = 3;
  const auto plan = read_value<RunPlan>(third, "plan");
  REQUIRE_FALSE(plan);
  CHECK(plan.error().message.find("is 3 of 2") != std::string::npos);
}

TEST_CASE("shards of one plan have one hash, other plans another") {
  const std::string hash = plan_hash(test::sample_plan());
  CHECK(plan_hash(plan_of_shard({1})) == hash);
  RunPlan other = test::sample_plan();
  other.command = "fatune sweep --shard 1/2";
  CHECK(plan_hash(other) == hash);
  other.seed = 7;
  CHECK(plan_hash(other) != hash);
  other = test::sample_plan();
  other.warm_starts = {{"fa_mma", Json::object(), other.problems.front().problem, "", {90, 'a'}}};
  CHECK(plan_hash(other) != hash);
}

TEST_CASE("plans of two shards differ in --shard, those of one shard in nothing") {
  RunPlan typed = plan_of_shard({});
  typed.shard->plan.clear();
  CHECK(difference(plan_of_shard({1}), typed).empty());
  typed.shard->number = 2;
  CHECK(difference(plan_of_shard({1}), typed) == "--shard is '1/2' in the journal and '2/2' here");
  CHECK(difference(plan_of_shard({1}), test::sample_plan()) ==
        "--shard is '1/2' in the journal and 'none' here");
}

}  // namespace
}  // namespace fatune
