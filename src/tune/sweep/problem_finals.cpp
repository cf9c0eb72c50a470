// problem_finals.cpp: Recalls, runs or repeats the final phase of a problem.
#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/log.hpp"
#include "tune/sweep/finals.hpp"
#include "tune/sweep/problem_sweep.hpp"

namespace fatune {
namespace {

/// Limits edge problems to the winner, unless the objective is the score.
FinalPlan plan_of_finals(const RunState& run) {
  FinalPlan plan = run.options.finals;
  if (run.plan.objective == Objective::kScore) return plan;
  plan.winner = [objective = run.plan.objective, seed = plan.seed](const auto& records) {
    return winner_by_time(records, final_time(records, objective), seed);
  };
  return plan;
}

using Names = std::set<std::string>;

Names baselines_with(const std::vector<FinalRecord>& finals, Outcome outcome) {
  Names names;
  for (const FinalRecord& record : finals) {
    if (record.is_baseline() && record.outcome == outcome) names.insert(record.impl);
  }
  return names;
}

Names difference(const Names& all, const Names& without) {
  Names left;
  std::ranges::set_difference(all, without, std::inserter(left, left.end()));
  return left;
}

/// Whether finals_only repeats the phase, because an unavailable baseline may be available now.
bool retry_unavailable(const std::vector<FinalRecord>& finals, const RunState& run) {
  const Names absent = baselines_with(finals, Outcome::kUnavailable);
  return run.options.finals_only && !difference(absent, run.still_absent).empty();
}

class ProblemFinals {
 public:
  ProblemFinals(RunState& run, ProblemResult& result)
      : run_(run), result_(result), wanted_{result.problem.problem,
                                            run.kernels,
                                            run.baseline,
                                            run.environment.limits,
                                            search_time(run.plan.objective),
                                            run.options.finalists} {}

  Status settle() {
    if (run_.options.baselines) {
      FATUNE_TRY(wanted_.baselines, run_.options.baselines(wanted_.problem));
    }
    FATUNE_TRY(contestants_, choose_contestants(wanted_, result_.candidates));
    if (contestants_.empty()) return {};
    recall();
    if (!run_.is_over()) FATUNE_TRY_STATUS(result_.finals.empty() ? begin() : repeat());
    if (result_.finals.empty()) return {};
    Scoring scoring;
    if (run_.plan.objective == Objective::kScore) {
      FATUNE_TRY(const auto uses,
                 count_finalists(result_.finals, contestants_, run_.options.count_use));
      scoring = score_finals(result_.finals, uses);
    }
    settle_finals(result_, run_.plan.objective, run_.options.finals.seed, scoring);
    return {};
  }

 private:
  /// Restores the final phase from the journal if it has exactly these contestants.
  void recall() {
    result_.finals = run_.journal.finals(wanted_.problem);
    if (!covers(result_.finals, contestants_)) result_.finals.clear();
    for (const FinalRecord& record : result_.finals) run_.clock.replay(record.at_s);
  }

  Status begin() {
    FATUNE_TRY(auto finals, measured());
    return publish(std::move(finals));
  }

  /// Repeats the final phase. An interrupt keeps the previous phase, and so does a new phase that
  /// lacks earlier times, because the last phase of a problem counts.
  Status repeat() {
    if (!retry_unavailable(result_.finals, run_)) return {};
    auto again = measured();
    if (!again) return unless_interrupted(again.error(), run_);
    run_.still_absent.merge(baselines_with(*again, Outcome::kUnavailable));
    const Names before = baselines_with(result_.finals, Outcome::kMeasured);
    const Names now = baselines_with(*again, Outcome::kMeasured);
    const Names lost = difference(before, now);
    if (lost.empty() && now.size() > before.size()) return publish(*std::move(again));
    log::warn(fmt::format("the final phase of before stays: measured again, it has no time of {}",
                          fmt::join(lost.empty() ? run_.still_absent : lost, ", ")));
    return {};
  }

  Result<std::vector<FinalRecord>> measured() {
    run_.progress.begin_finals(run_.clock.now());
    FATUNE_TRY_STATUS(run_.begin(wanted_.problem));
    FinalPlan plan = plan_of_finals(run_);
    if (plan.winner) {
      FATUNE_TRY(plan.reserves, choose_reserves(wanted_, contestants_, result_.candidates));
    }
    return run_.evaluator->finals(contestants_, plan);
  }

  Status publish(std::vector<FinalRecord> finals) {
    for (FinalRecord& record : finals) {
      record.gpu = run_.environment.device_uuid;
      FATUNE_TRY_STATUS(run_.write(record));
    }
    result_.finals = std::move(finals);
    return {};
  }

  RunState& run_;
  ProblemResult& result_;
  FinalsRequest wanted_;
  std::vector<Implementation> contestants_;
};

}  // namespace

Status unless_interrupted(Status done, RunState& run) {
  if (done || done.error().kind != ErrorKind::kInterrupted) return done;
  run.interrupted = true;
  return {};
}

Status settle_problem(RunState& run, ProblemResult& result) {
  const double began_s = run.clock.spent();
  FATUNE_TRY_STATUS(unless_interrupted(ProblemFinals(run, result).settle(), run));
  result.seconds += run.clock.spent() - began_s;
  return {};
}

}  // namespace fatune
