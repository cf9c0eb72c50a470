// judged.cpp: Compares the outputs of a run with the reference, and adds up the verdicts.
#include "worker/gates/judged.hpp"

#include <algorithm>
#include <iterator>

#include "worker/verify/error_regions.hpp"

namespace fatune {
namespace {

void merge(const Comparison& output, Comparison& all) {
  all.max_abs = std::max(all.max_abs, output.max_abs);
  all.mean_abs = std::max(all.mean_abs, output.mean_abs);
  all.relative_l2 = std::max(all.relative_l2, output.relative_l2);
  if (output.method_l2) all.method_l2 = std::max(all.method_l2.value_or(0), *output.method_l2);
  all.allclose_1e3 = all.allclose_1e3 && output.allclose_1e3;
}

}  // namespace

const Judgement& Judged::worst() const {
  if (!lse || !verdict.passed) return verdict;
  return lse->verdict.margin > verdict.margin ? lse->verdict : verdict;
}

/// The first output that fails, or the one nearest to its limits.
Judged judge_outputs(const DeviceProblem& problem, const InputSet& set, std::size_t host,
                     std::size_t checked) {
  Judged judged;
  judged.verdict.passed = true;
  for (std::size_t i = 0; i < set.outputs.size(); ++i) {
    const Comparison comparison = compare(set.outputs[i], problem.host_output(host, i));
    merge(comparison, judged.figures);
    const Judgement verdict = judge(set.outputs[i], comparison);
    const bool worse = verdict.margin > judged.verdict.margin || judged.verdict.worst_rule.empty();
    if (judged.verdict.passed && (worse || !verdict.passed)) judged.verdict = verdict;
  }
  if (problem.problem().lse && checked > 1)
    judged.lse = judge_lse(set.lse, problem.host_output(host, 1));
  return judged;
}

std::vector<ErrorRegion> wrong_regions(const DeviceProblem& problem, const InputSet& set,
                                       std::size_t host) {
  std::vector<ErrorRegion> regions;
  for (std::size_t i = 0; i < set.outputs.size(); ++i) {
    const std::span<const std::byte> out = problem.host_output(host, i);
    if (judge(set.outputs[i], compare(set.outputs[i], out)).passed) continue;
    std::ranges::move(error_regions(set.outputs[i], out), std::back_inserter(regions));
  }
  return regions;
}

void account_margin(const Judgement& verdict, Verification& verification) {
  if (verdict.margin < verification.margin) return;
  verification.margin = verdict.margin;
  verification.worst_rule = verdict.worst_rule;
}

void account(const Judged& judged, const InputCase& which, Verification& verification) {
  account_margin(judged.worst(), verification);
  if (judged.lse) {
    LseErrors& errors = verification.lse ? *verification.lse : verification.lse.emplace();
    errors.margin = std::max(errors.margin, judged.lse->verdict.margin);
    errors.max_abs_diff = std::max(errors.max_abs_diff, judged.lse->max_abs);
  }
  ++verification.seeds;
  if (which.distribution != Distribution::kNormal) return;
  const Comparison& figures = judged.figures;
  const bool first = verification.max_abs_diff == 0 && verification.seeds == 1;
  verification.max_abs_diff = std::max(verification.max_abs_diff, figures.max_abs);
  verification.mean_abs_diff = std::max(verification.mean_abs_diff, figures.mean_abs);
  verification.relative_l2 =
      std::max(verification.relative_l2, std::min(figures.relative_l2, kWorstMargin));
  if (figures.method_l2) {
    verification.method_l2 =
        std::max(verification.method_l2.value_or(0), std::min(*figures.method_l2, kWorstMargin));
  }
  verification.allclose_1e3 = (first || verification.allclose_1e3) && figures.allclose_1e3;
}

}  // namespace fatune
