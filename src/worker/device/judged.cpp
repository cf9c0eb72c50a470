// judged.cpp - compares attention's outputs, or each that an operation declares.
#include "worker/device/judged.hpp"

#include <algorithm>

namespace fatune {
namespace {

/// The first output that fails, or the one nearest to its limits.
Judged judge_own(const DeviceProblem& problem, const InputSet& set, std::size_t host) {
  Judged judged;
  judged.verdict.passed = true;
  for (std::size_t i = 0; i < set.own.size(); ++i) {
    const TensorErrors errors = compare_tensor(set.own[i], problem.host_output(host, i));
    ErrorFigures& figures = judged.figures;
    figures.max_abs = std::max(figures.max_abs, errors.max_abs);
    figures.mean_abs = std::max(figures.mean_abs, errors.mean_abs);
    figures.relative_l2 = std::max(figures.relative_l2, errors.relative_l2);
    figures.allclose_1e3 = figures.allclose_1e3 && errors.allclose_1e3;
    const Judgement verdict = judge_tensor(set.own[i], errors);
    const bool worse = verdict.margin > judged.verdict.margin || judged.verdict.worst_rule.empty();
    if (judged.verdict.passed && (worse || !verdict.passed)) judged.verdict = verdict;
  }
  return judged;
}

}  // namespace

const Judgement& Judged::worst() const {
  if (!lse || !verdict.passed) return verdict;
  return lse->verdict.margin > verdict.margin ? lse->verdict : verdict;
}

Judged judge_outputs(const DeviceProblem& problem, const InputSet& set, std::size_t host,
                     std::size_t checked) {
  if (problem.own()) return judge_own(problem, set, host);
  Judged judged;
  const Comparison comparison = compare(set.reference, problem.host_output(host));
  judged.figures = {comparison.max_abs, comparison.mean_abs, comparison.relative_l2,
                    comparison.allclose_1e3};
  judged.verdict = judge(problem.problem(), comparison, set.limits);
  if (checked > 1) judged.lse = judge_lse(set.lse, problem.host_output(host, 1));
  return judged;
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
  const ErrorFigures& figures = judged.figures;
  const bool first = verification.max_abs_diff == 0 && verification.seeds == 1;
  verification.max_abs_diff = std::max(verification.max_abs_diff, figures.max_abs);
  verification.mean_abs_diff = std::max(verification.mean_abs_diff, figures.mean_abs);
  verification.relative_l2 =
      std::max(verification.relative_l2, std::min(figures.relative_l2, kWorstMargin));
  verification.allclose_1e3 = (first || verification.allclose_1e3) && figures.allclose_1e3;
}

}  // namespace fatune
