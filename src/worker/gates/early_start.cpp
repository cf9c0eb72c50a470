// early_start.cpp: Runs a dependent launch behind a kernel that still changes its inputs.
#include <vector>

#include "worker/gates/gates.hpp"

namespace fatune {

/// The kernel in front lets the candidate begin, then exchanges the inputs and overwrites the
/// output. The output must be that of the changed inputs.
GateReport check_early_start(GateContext& context) {
  Executable& program = context.program;
  DeviceProblem& problem = context.problem;
  if (!program.begins_early()) return GateReport::not_asked();
  if (problem.sets().size() < 2) return GateReport::not_run("there is one set of inputs");
  InputSet& first = problem.sets()[0];
  InputSet& second = problem.sets()[1];
  if (auto failure = context.failed(program.bind(problem.addresses(first)))) return failure;
  std::vector<DeviceChecks::Exchange> pairs;
  for (std::size_t i = 0; i < first.inputs.size(); ++i)
    pairs.push_back({first.inputs[i], second.inputs[i]});
  if (auto failure = context.fill_outputs(kPoisons[0], first)) return failure;
  // Nothing may be queued between the two, or the candidate could not begin early.
  const auto both = [&]() -> Status {
    FATUNE_TRY_STATUS(
        problem.checks().exchange_late(pairs, problem.outputs().front(), kPoisons[0]));
    return program.queue();
  };
  if (auto failure = context.unfinished(context.session.sampler->time_once(both))) return failure;
  if (auto failure = context.failed(context.swap_inputs())) return failure;
  return check_verified(context, 1, GateId::kEarlyStart,
                        "behind a kernel that still writes its inputs and output");
}

}  // namespace fatune
