// device_evaluator.hpp - candidates to records on a real GPU, by compile pool and worker.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compile/pool.hpp"
#include "evaluate/evaluator.hpp"

namespace fatune {

struct DeviceOptions {
  int ordinal = 0;
  PoolOptions pool;
  std::filesystem::path log_folder;  ///< worker stderr; the run's folder
  KernelRef reference;               ///< role "reference": what results are compared with
  double kernel_deadline_s = 10;     ///< a launch that has not finished by then is a timeout
  std::size_t look_ahead = 0;        ///< 0: twice the compile jobs
};

/// Starts pool and worker side by side. No driver or device is an environment or device error with
/// the remedy.
Result<std::unique_ptr<Evaluator>> open_device_evaluator(const DeviceOptions& options);

/// Body of the hidden `fatune device-worker ORDINAL` command: serves orders on descriptor 3 until
/// it closes. `args` is what follows the command's name. Returns the exit code.
int device_worker_main(std::span<const std::string> args);

/// What is there, without creating a context in this process: asks a short-lived worker.
Result<std::vector<Environment>> list_devices();

}  // namespace fatune
