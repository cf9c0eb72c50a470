// timed_output.cpp: Runs the timed graphs and single launches again, and checks what they leave.
#include <utility>

#include "worker/gates/gates.hpp"

namespace fatune {
namespace {

/// Fills constants from the first set's addresses and replays the graph.
MaybeFailure replay(GateContext& context, const HotLoop& loop) {
  const TensorAddresses at = context.problem.addresses(context.problem.sets().front());
  if (auto failure = context.failed(context.program.fill_constants(at))) return failure;
  return context.unfinished(context.session.sampler->time_loop(loop));
}

/// Replays the graph with the second set's data where the first set's was.
MaybeFailure replay_swapped(GateContext& context, const HotLoop& loop) {
  if (auto failure = context.failed(context.swap_inputs())) return failure;
  if (auto failure = replay(context, loop)) return failure;
  return context.failed(context.swap_inputs());
}

/// Replays the graph over a poisoned output. Then it runs over the first set's output, which a
/// kernel leaves there if it keeps what it finds or knows its inputs by their addresses.
MaybeFailure check_graph(GateContext& context, const HotLoop& loop) {
  constexpr GateId kGate = GateId::kTimedOutput;
  if (auto failure = context.fill_outputs(kPoisons[0], context.problem.sets().front()))
    return failure;
  if (auto failure = replay(context, loop)) return failure;
  if (auto failure = check_verified(context, 0, kGate, "after the timed launches")) return failure;
  if (context.problem.sets().size() < 2) return std::nullopt;
  if (auto failure = replay_swapped(context, loop)) return failure;
  return check_verified(context, 1, kGate,
                        "after the timed launches, with other inputs at the same addresses");
}

/// Runs over NaN, which every element of a library's own output must replace.
MaybeFailure check_timed_own_output(GateContext& context, const OwnOutput& own) {
  InputSet& set = context.problem.sets().front();
  context.session.sampler->set_limit(context.problem.kernel_limit());
  if (const HotLoop* const loop = context.timed.loop) {
    const Status filled =
        fill_insides(context.program.scratch(), kNanByte, context.session.stream.raw());
    if (auto failure = context.failed(filled)) return failure;
    if (auto failure = context.unfinished(context.session.sampler->time_loop(*loop)))
      return failure;
    if (auto failure = check_own_output(context, own, set)) return failure;
  }
  if (auto failure = run_guarded(context, set, kNanByte)) return failure;
  return check_own_output(context, own, set);
}

}  // namespace

GateReport check_timed_output(GateContext& context) {
  if (const auto own = context.program.own_output()) return check_timed_own_output(context, *own);
  context.verified.resize(context.problem.sets().size());
  const std::size_t other = context.problem.sets().size() > 1 ? 1 : 0;
  context.session.sampler->set_limit(context.problem.kernel_limit());
  for (const HotLoop* loop : {context.timed.loop, context.timed.plain_loop}) {
    if (loop == nullptr || context.problem.fills_outputs()) continue;
    if (auto failure = check_graph(context, *loop)) return failure;
  }
  const std::pair<std::size_t, std::optional<std::uint8_t>> singles[] = {
      {other, kPoisons[1]}, {0, std::nullopt}, {other, kPoisons[0]}};
  for (const auto& [index, poison] : singles) {
    if (auto failure = context.run(context.problem.sets()[index], poison)) return failure;
    if (auto failure = check_verified(context, index, GateId::kTimedOutput, "launched once more"))
      return failure;
  }
  if (!context.problem.fills_outputs()) return {};
  return GateReport::not_run("launches of a graph read what the launch before has written");
}

}  // namespace fatune
