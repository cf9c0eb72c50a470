// workbench.hpp: Gives tests and run_ptx the compiler and the kernels of this checkout.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "ptx/interpret.hpp"

namespace fatune::ptx {

struct Workbench {
  Nvrtc compiler;
  DeviceLimits limits;
  std::vector<KernelRef> kernels;

  /// An environment error without NVRTC. `folders`: of kernels beside those of this checkout; of
  /// two with the same name the later one counts.
  static Result<Workbench> open(const std::string& arch,
                                const std::vector<std::filesystem::path>& folders = {});
  Setting setting() const { return {compiler, limits}; }
  Result<KernelRef> kernel(const std::string& name) const;
  /// "BLOCK_M=64,REDUCE=warp": what differs from the default config. An error when the candidate
  /// cannot run.
  Result<Candidate> candidate(const std::string& kernel, const std::string& config,
                              const Attention& problem) const;
};

}  // namespace fatune::ptx
