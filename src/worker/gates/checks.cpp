// checks.cpp: Checks what a launch leaves: around its tensors, and in comparison with other runs.
#include "worker/gates/checks.hpp"

#include <utility>

#include "worker/gates/gate.hpp"

namespace fatune {

MaybeFailure check_guards(GateContext& context, InputSet& set) {
  const auto looked_at = pointers_to({set.inputs, context.checked_outputs()});
  const auto sums = context.problem.checks().checksums(looked_at);
  if (!sums) return context.failed(sums);
  const auto outputs = sums->begin() + static_cast<std::ptrdiff_t>(set.inputs.size());
  context.set = &set;
  context.input_sums.assign(sums->begin(), outputs);
  context.output_sums.assign(outputs, sums->end());
  return ask_gates(GateMoment::kEveryRun, context);
}

MaybeFailure run_guarded(GateContext& context, InputSet& set, std::optional<std::uint8_t> poison) {
  if (auto failure = context.run(set, poison)) return failure;
  return check_guards(context, set);
}

MaybeFailure check_repeatable(GateContext& context, std::optional<std::uint8_t> poison) {
  InputSet& set = *context.set;
  if (auto failure = run_guarded(context, set, poison)) return failure;
  if (context.output_sums == context.first_sums) return std::nullopt;
  if (auto failure = context.fetch_outputs(1)) return failure;
  const DeviceProblem& problem = context.problem;
  for (std::size_t i = 0; i < context.checked_outputs().size(); ++i) {
    const PoisonedRun before{problem.host_output(0, i), kPoisons[0]};
    const PoisonedRun after{problem.host_output(1, i), poison.value_or(kPoisons[0])};
    const auto finding = poison_finding(problem.output(i), before, after);
    if (!finding) continue;
    const Judged judged = context.judge(set, 1);
    Judgement verdict = judged.worst();
    const bool tolerated = tolerate_baseline_error(context, judged, set);
    verdict.passed = verdict.passed || tolerated;
    if (auto failure = context.variation.differs(*finding, verdict)) return failure;
    if (!tolerated) account_margin(verdict, context.verification);
  }
  return std::nullopt;
}

MaybeFailure check_verified(GateContext& context, std::size_t index, GateId gate,
                            const std::string& when) {
  InputSet& set = context.problem.sets()[index];
  if (auto failure = check_guards(context, set)) return failure;
  if (context.verified[index] == context.output_sums) return std::nullopt;
  if (auto failure = context.fetch_outputs(1)) return failure;
  const Judged judged = context.judge(set, 1);
  const Judgement& verdict = judged.worst();
  if (!verdict.passed) return refused(gate, when + ", " + verdict.reason);
  if (context.verified[index]) {
    const GateFinding finding{gate, when + ", the output is not the verified one"};
    return context.variation.differs(finding, verdict);
  }
  context.verified[index] = context.output_sums;
  return std::nullopt;
}

}  // namespace fatune
