// gates.hpp: Verifies a candidate: all gates in their order, before and after it is timed.
#pragma once

#include <vector>

#include "worker/gates/gate_context.hpp"

namespace fatune {

/// The gates that verify() asks of every candidate, in their order.
std::vector<PassedGate> gates_of_verify();

/// Asks the gates of one set of inputs.
MaybeFailure verify_set(GateContext& context, InputSet& set);
/// Asks all gates before the timing over all sets of inputs, and over more seeds if the margin is
/// small.
MaybeFailure verify(GateContext& context, const PhaseNote& note);
/// Asks the launch gate alone, for --skip-correctness.
MaybeFailure launch_only(GateContext& context);
/// Asks the gates of timed launches.
MaybeFailure verify_timed(GateContext& context, const TimedRun& run);
/// Asks the gate of a layer.
MaybeFailure verify_in_layer(GateContext& context, const LayerRun& run);

}  // namespace fatune
