// final_rounds.cpp: Times the contestants of a final phase in rounds, and takes over the results.
#include <utility>

#include "core/log.hpp"
#include "core/parallel.hpp"
#include "model/results/statistics.hpp"
#include "tune/evaluate/final_stages.hpp"

namespace fatune {
namespace {

Timing summary_of(const std::vector<double>& rounds_us, std::int64_t launches, std::uint64_t seed) {
  Timing timing = summarize(rounds_us, launches);
  const Interval interval = bootstrap_median(rounds_us, kResamples, seed);
  timing.ci95_low_us = interval.low;
  timing.ci95_high_us = interval.high;
  return timing;
}

/// Applies the gates of timed launches to the samples of the rounds.
void add_gates(const RoundsRow& row, Verification& verification) {
  verification.gates.insert(verification.gates.end(), row.gates.begin(), row.gates.end());
  verification.not_run.insert(verification.not_run.end(), row.not_run.begin(), row.not_run.end());
  if (row.outcome == Outcome::kWrongResult) verification.passed = false;
}

void take_row(RoundsRow& row, const FinalPlan& plan, bool again, Contender& contender,
              FinalRecord& record) {
  record.outcome = row.outcome;
  record.reason = row.reason;
  if (!row.detail.empty()) record.detail = row.detail;
  record.conditions = row.conditions;
  if (again) {
    record.verification = contender.before_rounds;
  } else {
    contender.before_rounds = record.verification;
  }
  if (record.verification) add_gates(row, *record.verification);
  drop_times(record);
  if (row.outcome != Outcome::kMeasured || row.hot_us.empty()) return;
  const auto take = [&](Time time, std::vector<double>& rounds_us, std::int64_t launches) {
    if (rounds_us.empty()) return;
    timing_of(record, time) = summary_of(rounds_us, launches, plan.seed);
    rounds_of(record, time) = std::move(rounds_us);
  };
  take(Time::kHot, row.hot_us, row.hot_launches);
  take(Time::kPlain, row.plain_us, row.hot_launches);
  take(Time::kInLayer, row.in_layer_us, 1);
  take(Time::kCold, row.cold_us, 1);
  record.timed_again = again;
}

}  // namespace

Status time_in_rounds(FinalStages& stages, const FinalPlan& plan, const Places& contestants,
                      bool again) {
  if (contestants.empty() || plan.rounds == 0) return {};
  RoundsOrder order;
  order.rounds = plan.rounds;
  order.launches_per_round = plan.launches_per_round;
  order.seed = plan.seed + (again ? 1 : 0);
  order.verify = !stages.setting.run.skip_correctness;
  order.in_layer = stages.problem.attention() != nullptr;
  for (const std::size_t index : contestants)
    order.contestants.push_back(*stages.contenders[index].program);
  FATUNE_TRY(RoundsReply reply, stages.setting.worker.rounds(order, stages.progress));
  if (reply.rows.size() != contestants.size())
    return device_error("the device worker's rounds do not match the contestants");
  if (!reply.layer_note.empty()) log::info(describe(stages.problem) + ": " + reply.layer_note);
  // Each contestant has a record and four confidence intervals to compute.
  parallel_for(contestants.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t index = contestants[i];
      take_row(reply.rows[i], plan, again, stages.contenders[index], stages.records[index]);
    }
  });
  return {};
}

}  // namespace fatune
