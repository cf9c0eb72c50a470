// physics.hpp: Compares measured times with the least time that the device needs.
#pragma once

#include "model/results/physics.hpp"
#include "worker/gates/gate.hpp"
#include "worker/gates/gate_context.hpp"

namespace fatune {

/// The floors of a problem on the session's device, at the highest clock that NVML or the driver
/// reports.
PhysicsFloor floor_of(const DeviceSession& session, const Problem& problem);
/// Needs no device.
GateReport check_physics(const PhysicsFloor& floor, const TimedRun& run);

}  // namespace fatune
