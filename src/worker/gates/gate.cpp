// gate.cpp: Asks the device gates in the order of the table, and notes what they answer.
#include "worker/gates/gate.hpp"

#include <array>

#include <fmt/format.h>

#include "worker/gates/gate_context.hpp"

namespace fatune {
namespace {

#define FATUNE_GATE(id, name, moment, ...) DeviceGate{GateId::id, GateMoment::moment, check_##name},
constexpr std::array kGates = {FATUNE_DEVICE_GATES(FATUNE_GATE)};
#undef FATUNE_GATE

}  // namespace

GateReport GateReport::not_run(std::string why) {
  GateReport report;
  report.why_not_run = std::move(why);
  return report;
}

GateReport GateReport::not_asked() {
  GateReport report;
  report.asked = false;
  return report;
}

std::span<const DeviceGate> device_gates() { return kGates; }

MaybeFailure take_report(GateId gate, const GateReport& report, Verification& verification) {
  if (report.failure) return report.failure;
  if (report.why_not_run) {
    verification.not_run.push_back(fmt::format("{}: {}", name(gate), *report.why_not_run));
  } else if (report.asked) {
    verification.gates.push_back({gate});
  }
  return std::nullopt;
}

MaybeFailure ask_gates(GateMoment moment, GateContext& context) {
  for (const DeviceGate& gate : kGates) {
    if (gate.moment != moment) continue;
    const GateReport report = gate.check(context);
    // verify() itself notes the gates that are asked many times.
    const bool noted = moment != GateMoment::kEveryRun && moment != GateMoment::kInputSet;
    auto failure = noted ? take_report(gate.id, report, context.verification) : report.failure;
    if (failure) return failure;
  }
  return std::nullopt;
}

}  // namespace fatune
