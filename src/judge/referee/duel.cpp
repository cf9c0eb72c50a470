// duel.cpp: Applies the decision of `fatune gate` to judged kernels and to baselines.
#include "judge/referee/duel.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "tune/sweep/comparison.hpp"

namespace fatune {
namespace {

constexpr const char* kEarlier = "an earlier measurement";  // measured in other rounds

BaselineComparison comparison_with(const GateRow& row, Time time) {
  BaselineComparison other;
  static_cast<Compared&>(other) = row;
  other.impl = row.baseline.impl;
  other.time = time;
  if (const auto& timing = timing_of(row.baseline, time); timing && row.baseline.is_timed())
    other.median_us = timing->median_us;
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

Result<KernelComparison> decide_duel(std::vector<FinalRecord> records) {
  KernelComparison duel;
  duel.time = final_time(records);
  GateRules rules;
  rules.time = duel.time;
  for (const FinalRecord& record : records) {
    ComparedKernel compared;
    compared.record = record;
    if (!duel.kernels.empty()) {
      FATUNE_TRY(const GateProblem decided,
                 decide_gate({"", record.problem}, record, {{records.front(), ""}}, rules));
      static_cast<Compared&>(compared) = decided.rows.front();
    }
    duel.kernels.push_back(std::move(compared));
  }
  return duel;
}

void fields(AskComparison& x, FieldList& f) {
  f("ids", x.ids).required().about("2 to 8 judgements of one problem; the others over the first");
  f("rounds", x.rounds).range(10, 200).about("In which they take turns [40]");
  f.by_hand();
  f.rule("ids", [&x] {
    return std::string(x.ids.size() < 2 || x.ids.size() > 8 ? "must have 2 to 8 ids" : "");
  });
}

void fields(ComparedKernel& x, FieldList& f) {
  f.record("compared_kernel");
  f("id", x.record.id).required().looks_like(kIdPattern);
  f("kernel", x.record.kernel);
  f("config", x.record.config).object().schema(kConfigSchema);
  outcome_fields(x.record, f);
  time_fields(x.record, f);
  f("to_first", x.ratio).about("Its time over the first one's");
  f("comparison", x.comparison).omitted().one_of("faster, tie, slower");
  f("no_ratio", x.reason).omitted().about("Why there is none");
}

void fields(KernelComparison& x, FieldList& f) {
  f("problem_id", x.problem_id).required();
  f("time", x.time).about("That ratios are of");
  f("device", x.device).omitted();
  f("recorded", x.recorded).omitted();
  f("kernels", x.kernels).required();
}

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
