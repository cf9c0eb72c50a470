// device_evaluator.hpp: Evaluates candidates on a GPU with a compile pool and device workers.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tune/compile/pool.hpp"
#include "tune/evaluate/evaluator.hpp"
#include "worker/protocol/implementation.hpp"

namespace fatune {

struct DeviceOptions {
  int ordinal = 0;
  std::vector<int> helpers = {};  ///< ordinals of further GPUs that measure candidates
  PoolOptions pool;
  std::filesystem::path log_folder;  ///< worker stderr goes here; the run's folder
  KernelRef reference;               ///< role "reference": results are compared with its output
  double kernel_deadline_s = 10;     ///< a longer launch is a timeout
  std::size_t look_ahead = 0;        ///< 0: twice the compile jobs
};

/// Describes the host of the GPU without its name, and the versions of fatune and NVRTC.
void add_host(Environment& environment, const std::string& nvrtc);
/// Returns the first "model name" of the text of /proc/cpuinfo; empty if there is none.
std::string cpu_model(const std::string& cpuinfo);

/// Starts pool and worker side by side. A missing driver or device is an environment or device
/// error that names the remedy.
Result<std::unique_ptr<Evaluator>> open_device_evaluator(const DeviceOptions& options);

/// Lists the devices of this machine by a short-lived worker, so that this process has no context.
Result<std::vector<ListedDevice>> list_devices();

/// Lists the external implementations that run here, by a short-lived worker. Python imports
/// PyTorch for the answer, which can take seconds.
Result<std::vector<Availability>> list_implementations(const OutsideOptions& options);

}  // namespace fatune
