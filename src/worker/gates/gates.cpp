// gates.cpp: Asks the gates moment by moment in the order of the table, and notes their answers.
#include "worker/gates/gates.hpp"

#include <array>

#include <fmt/format.h>

#include "gpu/driver.hpp"

namespace fatune {
namespace {

/// A margin above it is worth more seeds.
constexpr double kNearLimit = 0.9;

void note_what_counts(GateContext& context) {
  note_own_output(context);
  for (const auto& [where, reason] : context.tolerated) {
    context.verification.not_run.push_back(
        fmt::format("{} {}: {}; its times count", name(GateId::kAccuracy), where, reason));
  }
  context.variation.note_in(context.verification);
}

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

std::vector<PassedGate> gates_of_verify() {
  std::vector<PassedGate> gates;
  for (const DeviceGate& gate : device_gates()) {
    if (gate.moment == GateMoment::kEveryRun || gate.moment == GateMoment::kInputSet)
      gates.push_back({gate.id});
  }
  return gates;
}

MaybeFailure verify_set(GateContext& context, InputSet& set) {
  context.set = &set;
  return ask_gates(GateMoment::kInputSet, context);
}

MaybeFailure verify(GateContext& context, const PhaseNote& note) {
  std::string no_extra;
  Verification& verification = context.verification;
  verification = {};
  context.tolerated.clear();
  context.verified.clear();
  for (InputSet& set : context.problem.sets()) {
    if (auto failure = verify_set(context, set)) return failure;
    context.verified.push_back(context.output_sums);
  }
  if (verification.margin > kNearLimit) {
    const auto extra = context.problem.extra_sets(note);
    if (!extra && gpu::context_broken(context.session.stream.raw())) return context.failed(extra);
    if (!extra) no_extra = extra.error().message;
    for (InputSet& set : extra ? *extra : std::span<InputSet>()) {
      if (auto failure = verify_set(context, set)) return failure;
    }
  }
  verification.gates = gates_of_verify();
  if (auto failure = ask_gates(GateMoment::kOnce, context)) return failure;
  verification.passed = true;
  note_what_counts(context);
  if (!no_extra.empty()) verification.not_run.push_back("accuracy, more seeds: " + no_extra);
  if (context.checked_outputs().size() < context.problem.outputs().size())
    verification.not_run.push_back("accuracy of lse: the implementation computes out alone");
  return std::nullopt;
}

MaybeFailure launch_only(GateContext& context) {
  context.verification = {};
  context.verification.skipped = true;
  context.verification.gates.push_back({GateId::kLaunch});
  return context.run(context.problem.sets().front(), kPoisons[0]);
}

MaybeFailure verify_timed(GateContext& context, const TimedRun& run) {
  context.timed = run;
  MaybeFailure failure = ask_gates(GateMoment::kTimed, context);
  note_what_counts(context);
  context.verification.passed = !failure;
  return failure;
}

MaybeFailure verify_in_layer(GateContext& context, const LayerRun& run) {
  context.in_layer = run;
  return ask_gates(GateMoment::kLayer, context);
}

}  // namespace fatune
