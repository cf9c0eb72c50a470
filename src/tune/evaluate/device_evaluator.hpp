// device_evaluator.hpp - candidates to records on a real GPU, by compile pool and worker.
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
  std::vector<int> helpers = {};  ///< ordinals of GPUs that measure candidates beside it
  PoolOptions pool;
  std::filesystem::path log_folder;  ///< worker stderr; the run's folder
  KernelRef reference;               ///< role "reference": what results are compared with
  double kernel_deadline_s = 10;     ///< a launch that has not finished by then is a timeout
  std::size_t look_ahead = 0;        ///< 0: twice the compile jobs
};

/// What the machine around the GPU is, in words without its name; versions of fatune and NVRTC.
void add_host(Environment& environment, const std::string& nvrtc);
/// The first "model name" of /proc/cpuinfo's text; empty when there is none.
std::string cpu_model(const std::string& cpuinfo);

/// Starts pool and worker side by side. No driver or device is an environment or device error with
/// the remedy.
Result<std::unique_ptr<Evaluator>> open_device_evaluator(const DeviceOptions& options);

/// The devices of this machine, asked of a short-lived worker: no context in this process.
Result<std::vector<ListedDevice>> list_devices();

/// Which implementations from elsewhere a worker can run here, asked of a short-lived one. Python
/// is asked for PyTorch, which can take seconds.
Result<std::vector<Availability>> list_implementations(const OutsideOptions& options);

}  // namespace fatune
