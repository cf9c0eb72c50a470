// gate.hpp: Declares the gates that run on the device, one function of one form for each.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "worker/device/failure.hpp"

namespace fatune {

struct GateContext;

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

}  // namespace fatune
