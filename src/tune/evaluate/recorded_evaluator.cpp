// recorded_evaluator.cpp: Answers from the records of a journal and marks each as recorded.
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "model/kernel/kernel.hpp"
#include "model/results/last_finals.hpp"
#include "model/space/rules.hpp"
#include "tune/evaluate/evaluator.hpp"

namespace fatune {
namespace {

constexpr const char* kMissing = "not in the recording";
constexpr const char* kUnknownText =
    "not in the recording, which answers for text and launches of kernels that fatune has alone; a "
    "GPU judges new ones: --device cuda:N";
constexpr const char* kRecorded = "recorded";  // stands for the compiler in ids
// Chosen: nothing is compiled or timed, but strategies that ask in batches need a few candidates in
// flight.
constexpr std::size_t kInFlight = 16;

class RecordedEvaluator : public Evaluator {
 public:
  RecordedEvaluator(Environment environment, std::vector<Record> records,
                    std::span<const KernelRef> kernels)
      : environment_(std::move(environment)) {
    environment_.recorded = true;
    for (const KernelRef& kernel : kernels) kernels_[kernel->manifest.name] = kernel;
    finals_ = LastFinals(records);
    for (Record& record : records) {
      if (auto* candidate = std::get_if<CandidateRecord>(&record)) {
        problems_.insert(candidate->problem);
        std::string key = candidate->key;
        by_key_.insert_or_assign(std::move(key), std::move(*candidate));
      } else if (const auto* final_record = std::get_if<FinalRecord>(&record)) {
        problems_.insert(final_record->problem);
      }
    }
  }

  const Environment& environment() const override { return environment_; }

  Status begin_problem(const Problem& problem, const RunPlan&) override {
    FATUNE_CHECK(waiting_.empty(),
                 "a problem begins when everything of the one before is collected");
    if (problems_.count(problem) > 0) return {};
    std::vector<std::string> known;
    for (const Problem& each : problems_) known.push_back(describe(each));
    return usage_error("the recording of " + environment_.device_name + " does not hold " +
                       describe(problem) + "; it holds " +
                       (known.empty() ? "nothing" : join(known, "; ")));
  }

  std::size_t capacity() const override { return kInFlight; }

  Status submit(const Candidate& candidate) override {
    waiting_.push_back(recall(candidate));
    return {};
  }

  Result<CandidateRecord> collect() override {
    FATUNE_CHECK(!waiting_.empty(), "only what was submitted can be collected");
    CandidateRecord record = std::move(waiting_.front());
    waiting_.pop_front();
    const bool ran = record.outcome != Outcome::kInfeasible &&
                     record.outcome != Outcome::kCompileError &&
                     record.outcome != Outcome::kDuplicate && record.reason != kMissing;
    if (ran && on_start) FATUNE_TRY_STATUS(on_start(started(record)));
    if (on_progress) on_progress("recorded");
    return record;
  }

  Result<std::vector<FinalRecord>> finals(const std::vector<Implementation>& contestants,
                                          const FinalPlan&) override {
    std::vector<FinalRecord> records;
    for (const Implementation& contestant : contestants)
      records.push_back(recall_final(contestant));
    return records;
  }

  Result<std::vector<FinalRecord>> examine(const std::vector<Implementation>& contestants,
                                           const FinalPlan& plan) override {
    FATUNE_CHECK(!contestants.empty(), "something has to be examined");
    FATUNE_TRY_STATUS(begin_problem(contestants.front().candidate.problem, {}));
    std::vector<FinalRecord> records;
    for (const Implementation& contestant : contestants) {
      FATUNE_TRY(FinalRecord record, examine_one(contestant));
      if (plan.rounds == 0) drop_times(record);
      records.push_back(std::move(record));
    }
    if (on_progress) on_progress("recorded");
    return records;
  }

 private:
  Result<FinalRecord> examine_one(const Implementation& contestant) const {
    const Candidate& candidate = contestant.candidate;
    if (contestant.outside) return recall_final(contestant);
    FATUNE_TRY(const std::string broken, impossible_reason(candidate, environment_.limits));
    if (!broken.empty()) return unmeasured(contestant, Outcome::kInfeasible, broken);
    if (!answers_for(candidate)) return unmeasured(contestant, Outcome::kUnavailable, kUnknownText);
    FinalRecord record = recall_final(contestant);
    record.id = candidate_id(candidate, kRecorded);
    return record;
  }

  /// The recording names kernels and configs: they stand for the text and the launches of the
  /// kernel that has the name.
  bool answers_for(const Candidate& asked) const {
    const auto named = kernels_.find(asked.kernel->manifest.name);
    if (named == kernels_.end() || named->second->text_hash != asked.kernel->text_hash)
      return false;
    const auto launches = [&](const KernelRef& kernel) {
      const auto plan = launch_plan({kernel, asked.config, asked.problem}, environment_.limits);
      return plan ? dump(to_json(*plan)) : "";
    };
    const std::string known = launches(named->second);
    return !known.empty() && launches(asked.kernel) == known;
  }

  static FinalRecord unmeasured(const Implementation& contestant, Outcome outcome,
                                const std::string& reason) {
    FinalRecord record = new_record(contestant, candidate_id(contestant.candidate, kRecorded));
    record.outcome = outcome;
    record.reason = reason;
    record.recorded = true;
    return record;
  }

  CandidateRecord recall(const Candidate& candidate) const {
    CandidateRecord record = new_record(candidate, candidate_id(candidate, kRecorded));
    if (const auto found = by_key_.find(record.key); found != by_key_.end()) {
      record = found->second;
      record.spent = {};
    } else {
      record.outcome = Outcome::kPruned;
      record.reason = kMissing;
    }
    record.recorded = true;
    return record;
  }

  /// Returns the recorded final of the config on its problem, or else a final without rounds made
  /// of the search's times. An external implementation is found by name.
  FinalRecord recall_final(const Implementation& contestant) const {
    const Candidate& candidate = contestant.candidate;
    const std::string config = contestant.outside ? "" : dump(to_json(candidate.config));
    const std::vector<FinalRecord>& finals = finals_.of(candidate.problem);
    const auto found = std::ranges::find_if(finals, [&](const FinalRecord& record) {
      if (contestant.outside) return record.impl == contestant.impl;
      return record.kernel == candidate.kernel->manifest.name && dump(record.config) == config;
    });
    FinalRecord record = found != finals.end() ? *found
                         : contestant.outside  ? missing_row(candidate.problem)
                                               : from_search(candidate);
    record.impl = contestant.impl;
    record.role = contestant.role;
    record.recorded = true;
    return record;
  }

  FinalRecord missing_row(const Problem& problem) const {
    FinalRecord record;
    record.problem = problem;
    record.outcome = Outcome::kUnavailable;
    record.reason = "the recording of " + environment_.device_name +
                    " holds no row of it; measure it on a GPU with --device cuda:N";
    return record;
  }

  FinalRecord from_search(const Candidate& candidate) const {
    CandidateRecord searched = recall(candidate);
    FinalRecord record;
    record.id = std::move(searched.id);
    record.kernel = std::move(searched.kernel);
    record.config = std::move(searched.config);
    record.problem = searched.problem;
    static_cast<Observation&>(record) = std::move(static_cast<Observation&>(searched));
    if (record.reason == kMissing) record.outcome = Outcome::kUnavailable;
    return record;
  }

  Environment environment_;
  std::map<std::string, CandidateRecord> by_key_;
  LastFinals finals_;
  std::set<Problem> problems_;
  std::map<std::string, KernelRef> kernels_;  ///< that may be asked about, by name
  std::deque<CandidateRecord> waiting_;
};

}  // namespace

Result<std::unique_ptr<Evaluator>> make_recorded_evaluator(Environment environment,
                                                           std::vector<Record> records,
                                                           std::span<const KernelRef> kernels) {
  const bool any = std::any_of(records.begin(), records.end(), [](const Record& record) {
    return std::holds_alternative<CandidateRecord>(record) ||
           std::holds_alternative<FinalRecord>(record);
  });
  if (!any) return usage_error("the recording holds no measurements");
  return std::unique_ptr<Evaluator>(
      std::make_unique<RecordedEvaluator>(std::move(environment), std::move(records), kernels));
}

}  // namespace fatune
