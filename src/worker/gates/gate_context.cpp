// gate_context.cpp: Launches a candidate over poisoned outputs, and copies them to the host.
#include "worker/gates/gate_context.hpp"

namespace fatune {

MaybeFailure GateContext::unfinished(const Result<MaybeTime>& time) const {
  if (time && !*time) return hang_failure(problem.kernel_limit());
  return failed(time);
}

std::span<const GuardedBuffer> GateContext::checked_outputs() const {
  const bool all = !problem.problem().lse || program.writes_lse();
  return all ? problem.outputs() : problem.outputs().first(1);
}

MaybeFailure GateContext::fill_outputs(std::uint8_t with) {
  pattern = with;
  return failed(fill_insides(problem.outputs(), with, session.stream.raw()));
}

MaybeFailure GateContext::run(InputSet& inputs, std::optional<std::uint8_t> poison) {
  if (auto failure = failed(program.bind(problem.addresses(inputs)))) return failure;
  if (poison) {
    if (auto failure = fill_outputs(*poison)) return failure;
    const Status filled = fill_insides(program.scratch(), *poison, session.stream.raw());
    if (auto failure = failed(filled)) return failure;
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

}  // namespace fatune
