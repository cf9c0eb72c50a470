// watched_evaluator.cpp: Forwards calls to an evaluator unless the client has cancelled the work.
#include "judge/referee/watched_evaluator.hpp"

namespace fatune {

WatchedEvaluator::WatchedEvaluator(Evaluator& watched, std::function<Status()> poll_client)
    : watched_(watched), poll_client_(std::move(poll_client)) {
  watched_.on_start = [this](const StartedRecord& record) {
    return on_start ? on_start(record) : Status();
  };
  watched_.on_early_result = [this](const CandidateRecord& record) {
    return on_early_result ? on_early_result(record) : Status();
  };
  watched_.on_progress = [this](std::string_view phase) {
    static_cast<void>(check_client().operator bool());
    if (on_progress) on_progress(phase);
  };
}

WatchedEvaluator::~WatchedEvaluator() {
  watched_.on_start = nullptr;
  watched_.on_early_result = nullptr;
  watched_.on_progress = nullptr;
}

/// Keeps the first error.
Status WatchedEvaluator::check_client() {
  if (client_status_) client_status_ = poll_client_();
  return client_status_;
}

Status WatchedEvaluator::begin_problem(const Problem& problem, const RunPlan& plan) {
  FATUNE_TRY_STATUS(check_client());
  return watched_.begin_problem(problem, plan);
}

Status WatchedEvaluator::expect(const std::vector<Implementation>& baselines) {
  return watched_.expect(baselines);
}

Status WatchedEvaluator::submit(const Candidate& candidate) {
  FATUNE_TRY_STATUS(check_client());
  return watched_.submit(candidate);
}

Result<CandidateRecord> WatchedEvaluator::collect() {
  FATUNE_TRY_STATUS(check_client());
  return watched_.collect();
}

Result<std::vector<FinalRecord>> WatchedEvaluator::finals(
    const std::vector<Implementation>& contestants, const FinalPlan& plan) {
  FATUNE_TRY_STATUS(check_client());
  auto records = watched_.finals(contestants, plan);
  if (!client_status_) return client_status_.error();
  return records;
}

Result<std::vector<FinalRecord>> WatchedEvaluator::examine(
    const std::vector<Implementation>& contestants, const FinalPlan& plan) {
  FATUNE_TRY_STATUS(check_client());
  auto records = watched_.examine(contestants, plan);
  if (!client_status_) return client_status_.error();
  return records;
}

}  // namespace fatune
