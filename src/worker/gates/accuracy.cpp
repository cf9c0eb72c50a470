// accuracy.cpp: Compares the output with the reference, by the rules of the problem's tolerance.
#include <fmt/format.h>

#include "worker/gates/gates.hpp"

namespace fatune {
namespace {

/// Chosen: an output of zeros is off by 1.
constexpr double kOffInOnes = 0.5;

}  // namespace

bool tolerate_baseline_error(GateContext& context, const Judged& judged, const InputSet& set) {
  const Judgement& verdict = judged.worst();
  if (verdict.passed || context.program.is_template()) return false;
  const Distribution inputs = set.which.distribution;
  const bool in_8_bits =
      context.problem.problem().is(has_descales) || context.program.own_output().has_value();
  const bool numbers = verdict.margin < kWorstMargin;  // and no rows that should be 0
  if (inputs == Distribution::kOnesV && in_8_bits && numbers &&
      judged.figures.relative_l2 < kOffInOnes) {
    context.tolerated["where v is 1, and sums lose most"] = verdict.reason;
  } else if (inputs == Distribution::kNotFinite && verdict.worst_rule == "not_finite") {
    context.tolerated["where inputs are no numbers"] = verdict.reason;
  } else {
    return false;
  }
  return true;
}

GateReport check_accuracy(GateContext& context) {
  InputSet& set = *context.set;
  if (const auto own = context.program.own_output()) return check_own_output(context, *own, set);
  const Judged& judged = context.judged =
      context.first_on_host ? context.judge(set, 0) : set.right.at(context.first_sums);
  if (tolerate_baseline_error(context, judged, set)) return {};
  account(judged, set.which, context.verification);
  if (judged.worst().passed) {
    set.right.try_emplace(context.first_sums, judged);
    return {};
  }
  if (context.locate_errors) context.regions = wrong_regions(context.problem, set, 0);
  return refused(GateId::kAccuracy,
                 fmt::format("{}, {} inputs", judged.worst().reason, name(set.which.distribution)));
}

}  // namespace fatune
