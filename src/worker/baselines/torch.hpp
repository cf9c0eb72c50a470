// torch.hpp - PyTorch's attention, one backend at a time, in a Python process that times itself.
#pragma once

#include <memory>
#include <string>

#include "core/result.hpp"
#include "worker/baselines/executable.hpp"
#include "worker/baselines/outside.hpp"

namespace fatune {

class TorchProcess;

/// The Python process; one serves every backend and problem, and is started again when it died.
class TorchHelper {
 public:
  TorchHelper();
  ~TorchHelper();
  TorchHelper(const TorchHelper&) = delete;
  TorchHelper& operator=(const TorchHelper&) = delete;

  /// Starts the process without waiting for it.
  void expect(const std::string& python, const std::string& device_uuid);
  /// `backend`: flash, cudnn, efficient, math or auto; forced, so that one that cannot do the
  /// problem is an error. An environment error when there is no PyTorch, or none with CUDA. The
  /// executable does not outlive the helper.
  Result<std::unique_ptr<Executable>> open(const std::string& backend, const std::string& python,
                                           const OutsideSetting& setting);

 private:
  std::unique_ptr<TorchProcess> process_;
};

}  // namespace fatune
