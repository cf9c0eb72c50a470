// physics.cpp: Refuses medians that no right kernel can reach on this device.
#include <algorithm>
#include <tuple>

#include "worker/gates/gates.hpp"

namespace fatune {

PhysicsFloor floor_of(const DeviceSession& session, const Problem& problem) {
  Environment environment = environment_of(session.facts);
  environment.max_sm_clock_mhz =
      std::max(environment.max_sm_clock_mhz, session.telemetry.max_sm_clock_mhz().value_or(0));
  return physics_floor(problem, environment);
}

GateReport check_physics(const PhysicsFloor& floor, const TimedRun& run) {
  if (!floor.unknown.empty()) return GateReport::not_run(floor.unknown);
  const std::tuple<const char*, std::optional<Micros>, const Floor&> times[] = {
      {"hot", run.hot, floor.hot},
      {"plain", run.plain, floor.hot},
      {"cold", run.cold, floor.cold},
      {"in a layer", run.in_layer, floor.in_layer}};
  for (const auto& [which, time, least] : times) {
    if (!time) continue;
    const std::string finding = physics_finding(which, *time, least);
    if (!finding.empty()) return refused(GateId::kPhysics, finding);
  }
  return {};
}

GateReport check_physics(GateContext& context) {
  return check_physics(floor_of(context.session, context.problem.problem()), context.timed);
}

}  // namespace fatune
