// selftest.cpp - submits fixtures and honest kernels problem by problem, and judges the records.
#include "tune/evaluate/selftest.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "model/results/measurement.hpp"

namespace fatune {
namespace {

constexpr const char* kNotRun = "not_run";
/// Small, and large enough for whole tiles and a last one.
const Problem kUsual{
    .batch = 1, .heads = 2, .kv_heads = 2, .seq_q = 128, .seq_kv = 128, .head_dim = 64};

bool is_fixture(const Manifest& manifest) {
  return manifest.role == Role::kFault && !manifest.expected_gate.empty();
}

/// A fixture that can write the log-sum-exp is at fault there; an honest kernel must be right with
/// it and without.
std::vector<Problem> problems_for(const Manifest& manifest) {
  if (manifest.operation->declared() != nullptr) return {};
  if (!is_fixture(manifest) && manifest.role != Role::kAttention) return {};
  Problem problem = manifest.selftest_shape.value_or(kUsual);
  std::vector<Problem> problems;
  if (!is_fixture(manifest) || !manifest.lse) problems.push_back(problem);
  problem.lse = true;
  if (manifest.lse) problems.push_back(problem);
  return problems;
}

SelftestRow new_row(const Candidate& candidate) {
  const Manifest& manifest = candidate.kernel->manifest;
  SelftestRow row;
  row.kernel = manifest.name;
  row.problem = candidate.problem;
  row.gate = manifest.expected_gate;
  row.expected_outcome =
      is_fixture(manifest) ? manifest.expected_outcome : std::string(name(Outcome::kMeasured));
  return row;
}

Result<SelftestRow> try_kernel(const Candidate& candidate, Evaluator& evaluator) {
  SelftestRow row = new_row(candidate);
  FATUNE_TRY(const std::string unsupported,
             unsupported_reason(candidate.kernel->manifest, candidate.problem,
                                evaluator.environment().limits));
  if (!unsupported.empty()) {
    row.outcome = kNotRun;
    row.reason = unsupported;
    return row;
  }
  FATUNE_TRY_STATUS(evaluator.submit(candidate));
  FATUNE_TRY(const CandidateRecord record, evaluator.collect());
  row.outcome = name(record.outcome);
  row.reason = record.reason;
  row.caught =
      row.outcome == row.expected_outcome && gate_of(record.outcome, record.reason) == row.gate;
  return row;
}

bool right(const std::vector<SelftestRow>& rows) {
  return std::all_of(rows.begin(), rows.end(),
                     [](const SelftestRow& row) { return row.caught || row.outcome == kNotRun; });
}

}  // namespace

bool SelftestResult::passed() const { return !cheats.empty() && right(cheats) && right(honest); }

Result<SelftestResult> run_selftest(const std::vector<KernelRef>& kernels, Evaluator& evaluator) {
  std::map<Problem, std::vector<KernelRef>> by_problem;
  for (const KernelRef& kernel : kernels) {
    for (const Problem& problem : problems_for(kernel->manifest))
      by_problem[problem].push_back(kernel);
  }
  RunPlan plan;
  plan.record_cold = true;
  SelftestResult result;
  for (const auto& [problem, group] : by_problem) {
    FATUNE_TRY_STATUS(evaluator.begin_problem(problem, plan));
    for (const KernelRef& kernel : group) {
      const Candidate candidate{kernel, default_config(kernel->manifest), problem};
      FATUNE_TRY(SelftestRow row, try_kernel(candidate, evaluator));
      (is_fixture(kernel->manifest) ? result.cheats : result.honest).push_back(std::move(row));
    }
  }
  return result;
}

}  // namespace fatune
