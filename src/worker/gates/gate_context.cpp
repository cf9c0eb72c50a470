// gate_context.cpp: Launches a candidate over poisoned outputs, and checks what launches leave.
#include "worker/gates/gate_context.hpp"

#include "worker/gates/gates.hpp"

namespace fatune {

MaybeFailure GateContext::unfinished(const Result<MaybeTime>& time) const {
  if (time && !*time) return hang_failure(problem.kernel_limit());
  return failed(time);
}

std::span<const GuardedBuffer> GateContext::checked_outputs() const {
  const bool all = !problem.problem().is(&Attention::lse) || program.writes_lse();
  return all ? problem.outputs() : problem.outputs().first(1);
}

MaybeFailure GateContext::fill_outputs(std::uint8_t with, const InputSet& inputs) {
  pattern = with;
  if (auto failure = failed(fill_insides(problem.outputs(), with, session.stream.raw())))
    return failure;
  return failed(problem.fill_read_outputs(inputs));
}

MaybeFailure GateContext::run(InputSet& inputs, std::optional<std::uint8_t> poison) {
  if (auto failure = failed(program.bind(problem.addresses(inputs)))) return failure;
  if (poison) {
    if (auto failure = fill_outputs(*poison, inputs)) return failure;
    const Status filled = fill_insides(program.scratch(), *poison, session.stream.raw());
    if (auto failure = failed(filled)) return failure;
  } else if (auto failure = failed(problem.fill_read_outputs(inputs))) {
    return failure;
  }
  session.sampler->set_limit(problem.kernel_limit());
  return unfinished(session.sampler->time_once([&] { return program.queue(); }));
}

MaybeFailure GateContext::fetch_outputs(std::size_t host) {
  for (std::size_t i = 0; i < checked_outputs().size(); ++i) {
    if (auto failure = failed(problem.fetch(host, i))) return failure;
  }
  return std::nullopt;
}

Judged GateContext::judge(const InputSet& inputs, std::size_t host) const {
  return judge_outputs(problem, inputs, host, checked_outputs().size());
}

Status GateContext::swap_inputs() {
  InputSet& first = problem.sets()[0];
  InputSet& second = problem.sets()[1];
  for (std::size_t i = 0; i < first.inputs.size(); ++i)
    FATUNE_TRY_STATUS(problem.checks().swap(first.inputs[i], second.inputs[i]));
  return {};
}

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
  if (!context.first_on_host) {
    if (auto failure = context.run(set, kPoisons[0])) return failure;
    if (auto failure = context.fetch_outputs(0)) return failure;
    context.first_on_host = true;
  }
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
  if (!context.verified[index] && set.right.contains(context.output_sums)) {
    context.verified[index] = context.output_sums;
    return std::nullopt;
  }
  if (auto failure = context.fetch_outputs(1)) return failure;
  const Judged judged = context.judge(set, 1);
  const Judgement& verdict = judged.worst();
  if (!verdict.passed) return refused(gate, when + ", " + verdict.reason);
  set.right.try_emplace(context.output_sums, judged);
  if (context.verified[index]) {
    const GateFinding finding{gate, when + ", the output is not the verified one"};
    return context.variation.differs(finding, verdict);
  }
  context.verified[index] = context.output_sums;
  return std::nullopt;
}

}  // namespace fatune
