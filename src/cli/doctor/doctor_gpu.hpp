// doctor_gpu.hpp - the driver and each GPU to findings: what it is, and what disturbs it.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor/doctor_check.hpp"
#include "cli/doctor/install_lines.hpp"
#include "cli/doctor/quiet.hpp"
#include "core/result.hpp"
#include "gpu/device.hpp"

namespace fatune::cli {

/// A GPU as it was found.
struct GpuSeen {
  Result<gpu::DeviceFacts> facts;
  std::string telemetry_problem;  ///< empty: `watch` holds what NVML told
  GpuWatch watch;
};
struct GpusSeen {
  Status driver;  ///< why there are none
  std::vector<GpuSeen> gpus;
};

/// Watches each GPU for about half a second; makes no context and changes no setting.
GpusSeen look_at_gpus();
Checks gpu_checks(const GpusSeen& seen, const HostSystem& host);

}  // namespace fatune::cli
