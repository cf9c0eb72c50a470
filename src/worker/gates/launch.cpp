// launch.cpp: Runs the candidate over outputs and scratch memory that hold NaN.
#include "worker/gates/gates.hpp"

namespace fatune {

/// The outputs stay on the host for the gates behind it, unless they are known to be right.
GateReport check_launch(GateContext& context) {
  if (auto failure = run_guarded(context, *context.set, kPoisons[0])) return failure;
  if (context.program.own_output()) return {};
  context.first_sums = context.output_sums;
  context.first_on_host = !context.set->right.contains(context.first_sums);
  return context.first_on_host ? context.fetch_outputs(0) : std::nullopt;
}

}  // namespace fatune
