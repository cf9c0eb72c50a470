// standing.cpp: Applies the decision of `fatune gate` to a judgement.
#include "judge/referee/standing.hpp"

#include <utility>

#include "core/text.hpp"
#include "tune/sweep/comparison.hpp"

namespace fatune {
namespace {

constexpr const char* kEarlier = "an earlier measurement";  // measured in other rounds

BaselineComparison comparison_with(const GateRow& row, Time time) {
  BaselineComparison other;
  other.impl = row.baseline.impl;
  other.time = time;
  if (const auto& timing = timing_of(row.baseline, time); timing && row.baseline.is_timed())
    other.median_us = timing->median_us;
  other.ratio = row.ratio;
  other.paired = row.paired;
  other.comparison = row.comparison;
  other.verdict = row.verdict;
  other.reason = row.reason;
  return other;
}

/// Returns null if no record has this time.
const FinalRecord* fastest(const std::vector<FinalRecord>& records, Time time) {
  const FinalRecord* found = nullptr;
  for (const FinalRecord& record : records) {
    const auto& timing = timing_of(record, time);
    if (!record.is_timed() || !timing) continue;
    if (found == nullptr || timing->median_us < timing_of(*found, time)->median_us) found = &record;
  }
  return found;
}

}  // namespace

Status compare_with(const std::vector<FinalRecord>& baselines, BaselineRounds rounds,
                    const Environment& environment, JudgedKernel& judgement) {
  std::vector<GateBaseline> rivals;
  for (const FinalRecord& each : baselines)
    rivals.push_back({each, rounds == BaselineRounds::kSame ? "" : kEarlier});
  const FinalRecord& record = judgement.record;
  FATUNE_TRY(const GateProblem decision, decide_gate({"", record.problem}, record, rivals, {}));
  for (const GateRow& row : decision.rows)
    judgement.baselines.push_back(comparison_with(row, decision.time));
  if (const FinalRecord* baseline = fastest(baselines, decision.time))
    judgement.sol = sol_score(record, *baseline, decision.time, environment);
  return {};
}

std::vector<std::string> warnings_of(const FinalRecord& record) {
  std::vector<std::string> warnings;
  if (record.resources) warnings = record.resources->warnings;
  if (record.verification) {
    for (const std::string& note : record.verification->not_run)
      warnings.push_back("not run: " + note);
    if (!record.verification->precision_note.empty())
      warnings.push_back(record.verification->precision_note);
  }
  if (record.conditions && record.conditions->throttle_reasons != 0) {
    warnings.push_back("the GPU was throttled: " +
                       join(throttle_names(record.conditions->throttle_reasons), ", "));
  }
  return warnings;
}

}  // namespace fatune
