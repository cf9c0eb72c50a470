// recorded_evaluator_test.cpp: Checks that a journal's records return as recorded answers.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "support/evaluate_fakes.hpp"
#include "tune/evaluate/evaluator.hpp"

using namespace fatune;
using namespace fatune::test;

namespace {

CandidateRecord record_of(const Candidate& candidate, double hot_us) {
  CandidateRecord record;
  record.id = candidate_id(candidate, "then");
  record.key = candidate_key(candidate);
  record.kernel = candidate.kernel->manifest.name;
  record.config = to_json(candidate.config);
  record.problem = candidate.problem;
  record.hot = Timing{.median_us = hot_us, .samples = 10};
  record.spent.compile_s = 3;
  return record;
}

FinalRecord final_of(const Candidate& candidate, const std::string& impl, double hot_us) {
  FinalRecord record;
  record.impl = impl;
  record.role = impl == "naive" ? RowRole::kBaseline : RowRole::kFinalist;
  record.kernel = candidate.kernel->manifest.name;
  record.config = to_json(candidate.config);
  record.problem = candidate.problem;
  record.hot = Timing{.median_us = hot_us};
  record.hot_rounds_us = {hot_us, hot_us};
  return record;
}

struct Recording {
  KernelRef kernel = tiled_kernel("k");
  KernelRef naive = tiled_kernel("naive", "reference");
  std::unique_ptr<Evaluator> evaluator;

  Recording() {
    std::vector<Record> records = {StartedRecord{"id", "key"},
                                   record_of(make_candidate(kernel, 1), 10),
                                   record_of(make_candidate(kernel, 2), 20),
                                   final_of(make_candidate(kernel, 1), "fatune:k", 11),
                                   final_of(make_candidate(naive, 2), "naive", 500),
                                   EndRecord{"complete", 1}};
    Environment environment;
    environment.device_name = "NVIDIA H200";
    evaluator = *make_recorded_evaluator(environment, std::move(records));
  }
};

}  // namespace

TEST_CASE("recorded candidates are told as they were, in order, and marked") {
  Recording recording;
  CHECK(recording.evaluator->environment().recorded);
  REQUIRE(recording.evaluator->begin_problem({}, {}));
  std::vector<std::string> started;
  recording.evaluator->on_start = [&](const StartedRecord& record) {
    started.push_back(record.key);
    return Status();
  };
  for (const int tile : {2, 1, 3})
    REQUIRE(recording.evaluator->submit(make_candidate(recording.kernel, tile)));
  const auto second = recording.evaluator->collect(), first = recording.evaluator->collect(),
             missing = recording.evaluator->collect();
  CHECK(second->hot->median_us == 20);
  CHECK(first->hot->median_us == 10);
  CHECK((first->recorded && second->recorded && missing->recorded));
  CHECK(first->spent.compile_s == 0);
  CHECK(missing->outcome == Outcome::kPruned);
  CHECK(missing->reason == "not in the recording");
  CHECK(started.size() == 2);
}

TEST_CASE("what the recording has no row of is unavailable in the finals") {
  Recording recording;
  const Problem problem = make_candidate(recording.kernel, 3).problem;
  const Implementation outside{
      "cudnn", RowRole::kBaseline, {nullptr, {}, problem}, OutsideProgram{"cudnn", {}}};
  const Implementation config{
      "fatune:x", RowRole::kFinalist, make_candidate(recording.kernel, 3), {}};
  const auto records = recording.evaluator->finals({outside, config}, {});
  REQUIRE(records);
  for (const FinalRecord& record : *records) {
    CHECK(record.outcome == Outcome::kUnavailable);
    CHECK_FALSE(record.reason.empty());
    CHECK_FALSE(record.hot);
    CHECK(record.recorded);
  }
  CHECK(records->front().impl == "cudnn");
}

TEST_CASE("a problem that is not in the recording is a usage error that lists those that are") {
  Recording recording;
  const Status status = recording.evaluator->begin_problem(Attention{.seq_q = 77}, {});
  REQUIRE_FALSE(status);
  CHECK(status.error().kind == ErrorKind::kUsage);
  CHECK(status.error().message.find("it holds 1,1,1,64 f16") != std::string::npos);
}

TEST_CASE("finals come from the recorded finals, else from the search") {
  Recording recording;
  REQUIRE(recording.evaluator->begin_problem({}, {}));
  const auto finals = recording.evaluator->finals(
      {{"fatune:k", RowRole::kFinalist, make_candidate(recording.kernel, 1)},
       {"fatune:k", RowRole::kDefault, make_candidate(recording.kernel, 2)},
       {"naive", RowRole::kBaseline, make_candidate(recording.naive, 2)}},
      {});
  REQUIRE(finals);
  CHECK((*finals)[0].hot->median_us == 11);
  CHECK((*finals)[0].hot_rounds_us.size() == 2);
  CHECK((*finals)[1].hot->median_us == 20);
  CHECK((*finals)[1].role == RowRole::kDefault);
  CHECK((*finals)[1].hot_rounds_us.empty());
  CHECK((*finals)[2].hot->median_us == 500);
  for (const FinalRecord& record : *finals) CHECK(record.recorded);
}

TEST_CASE("a recording without measurements is refused") {
  CHECK_FALSE(make_recorded_evaluator({}, {EndRecord{"complete", 1}}));
}

TEST_CASE("submitted kernels are known by text and launches, and have no times in a check") {
  const KernelRef known = tiled_kernel("k");
  const Candidate candidate = make_candidate(known, 1);
  Environment environment;
  environment.device_name = "NVIDIA H200";
  environment.limits = *typical_limits(Arch{90, 'a'});
  const auto evaluator = *make_recorded_evaluator(
      environment, {final_of(candidate, "fatune:k", 11)}, std::vector<KernelRef>{known});
  const auto times_of = [&](const Candidate& each, Scrutiny scrutiny) {
    return evaluator
        ->examine({implementation_of(each, RowRole::kFinalist)}, examination_plan(scrutiny))
        ->front();
  };
  CHECK(times_of(candidate, Scrutiny::kRank).hot->median_us == 11);
  CHECK_FALSE(times_of(candidate, Scrutiny::kCheck).hot);
  CHECK(times_of(candidate, Scrutiny::kCheck).outcome == Outcome::kMeasured);

  auto rewritten = std::make_shared<Kernel>(*known);
  rewritten->text_hash = "another";
  const FinalRecord unknown = times_of(make_candidate(rewritten, 1), Scrutiny::kRank);
  CHECK(unknown.outcome == Outcome::kUnavailable);
  CHECK_FALSE(unknown.hot);
  CHECK(unknown.recorded);
  CHECK(unknown.id == candidate_id(make_candidate(rewritten, 1), "recorded"));
  CHECK(times_of(make_candidate(known, 7), Scrutiny::kRank).outcome == Outcome::kInfeasible);

  auto repeated = std::make_shared<Kernel>(*known);  // launches of its own for the same text
  repeated->manifest.stages.push_back(repeated->manifest.stages.front());
  CHECK(times_of(make_candidate(repeated, 1), Scrutiny::kRank).outcome == Outcome::kUnavailable);
}
