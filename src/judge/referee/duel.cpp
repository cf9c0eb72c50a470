// duel.cpp: Computes the ratio of each kernel to the first kernel over the rounds that both have.
#include "judge/referee/duel.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "model/results/document.hpp"
#include "tune/sweep/comparison.hpp"

namespace fatune {

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
      const GateRow& row = decided.rows.front();
      compared.to_first = row.ratio;
      compared.comparison = row.comparison;
      compared.reason = row.reason;
    }
    duel.kernels.push_back(std::move(compared));
  }
  return duel;
}

void fields(AskComparison& x, FieldList& f) {
  f("ids", x.ids).required().about("2 to 8 judgements of one problem; the others over the first");
  f("rounds", x.rounds).range(10, 200).about("In which they take turns [40]");
  f.closed();
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
  f("to_first", x.to_first).about("Its time over the first one's");
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

}  // namespace fatune
