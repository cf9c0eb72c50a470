// device_session.hpp - the worker's hold on a GPU: context, stream, telemetry, sampler.
#pragma once

#include <memory>
#include <optional>

#include "core/result.hpp"
#include "gpu/objects.hpp"
#include "gpu/telemetry.hpp"
#include "model/results/measurement.hpp"
#include "worker/baselines/outside.hpp"
#include "worker/timing/sampler.hpp"

namespace fatune {

/// Made once a process; its address stays, because the sampler points into it. Members are
/// destroyed in reverse order.
struct DeviceSession {
  gpu::DeviceFacts facts;
  gpu::Telemetry telemetry;
  gpu::Context context;
  gpu::Stream stream;
  std::optional<Sampler> sampler;
  OutsideHost outside;
};
Result<std::unique_ptr<DeviceSession>> open_device_session(int ordinal);

/// What the device part of an environment says; compiler and host are the parent's to fill in.
Environment environment_of(const gpu::DeviceFacts& facts);

}  // namespace fatune
