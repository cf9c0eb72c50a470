// gates.hpp: Declares the gates that run on the device, and verifies a candidate by them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/results/physics.hpp"
#include "worker/device/failure.hpp"
#include "worker/gates/gate_context.hpp"

namespace fatune {

/// The answer of a gate: passed, unless a member says otherwise.
struct GateReport {
  GateReport() = default;
  GateReport(MaybeFailure found) : failure(std::move(found)) {}
  GateReport(Failure found) : failure(std::move(found)) {}
  /// A gate that cannot judge this candidate, and why.
  static GateReport not_run(std::string why);
  /// A gate that does not concern this candidate.
  static GateReport not_asked();

  MaybeFailure failure;
  std::optional<std::string> why_not_run;
  bool asked = true;
};

/// A row of FATUNE_DEVICE_GATES with its function.
struct DeviceGate {
  GateId id;
  GateMoment moment;
  GateReport (*check)(GateContext& context);
};
/// All, in the order of the table.
std::span<const DeviceGate> device_gates();

// check_launch() and its siblings, each in the file of its name.
#define FATUNE_GATE_FUNCTION(id, name, ...) GateReport check_##name(GateContext& context);
FATUNE_DEVICE_GATES(FATUNE_GATE_FUNCTION)
#undef FATUNE_GATE_FUNCTION

/// Returns the failure, or notes the gate as passed or not run.
MaybeFailure take_report(GateId gate, const GateReport& report, Verification& verification);
/// Asks the gates of a moment, in order, until one refuses.
MaybeFailure ask_gates(GateMoment moment, GateContext& context);

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

/// The floors of a problem on the session's device, at the highest clock that NVML or the driver
/// reports.
PhysicsFloor floor_of(const DeviceSession& session, const Problem& problem);
/// Needs no device.
GateReport check_physics(const PhysicsFloor& floor, const TimedRun& run);

}  // namespace fatune
