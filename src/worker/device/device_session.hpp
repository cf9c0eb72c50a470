// device_session.hpp: Holds the GPU of a device worker: facts, context, stream, sampler.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "core/result.hpp"
#include "gpu/objects.hpp"
#include "gpu/telemetry.hpp"
#include "model/results/measurement.hpp"
#include "worker/baselines/batched_gemm.hpp"
#include "worker/baselines/outside.hpp"
#include "worker/timing/sampler.hpp"

namespace fatune {

/// A process makes one. Its address stays, because the sampler points into it.
struct DeviceSession {
  gpu::DeviceFacts facts;
  gpu::Telemetry telemetry;
  gpu::Context context;
  gpu::Stream stream;
  std::optional<Sampler> sampler;
  OutsideHost outside;
  OpenGemm open_gemm = BatchedGemm::open;  ///< for the products of a layer
};
/// Opens the first device that the process sees.
Result<std::unique_ptr<DeviceSession>> open_device_session();
/// The setting of implementations from elsewhere. `custom` is the plan of a declared operation.
OutsideSetting outside_setting(const DeviceSession& session, const Problem& problem,
                               const std::optional<OperationPlan>& custom);
/// Loads the library for the products of the problem's layer, which stays loaded. A missing layer
/// or library is an error only when it is needed.
void load_products(const DeviceSession& session, const Attention& problem);

/// The device part of an environment. The parent fills in compiler and host.
Environment environment_of(const gpu::DeviceFacts& facts);
/// Whether a process is this one or descends from it.
bool is_own_process(pid_t pid);
/// Counts the processes besides this one and its descendants that compute on the GPU now.
int other_processes(const gpu::Telemetry& telemetry);
/// Why final phases on this GPU would be disturbed: MIG, or other processes that compute on it. Ask
/// before fatune uses the GPU. Empty if nothing is known.
std::string unfit_reason(const gpu::DeviceFacts& facts);

}  // namespace fatune
