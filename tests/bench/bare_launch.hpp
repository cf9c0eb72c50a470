// bare_launch.hpp: Prepares a kernel of a folder of wisdom, to compare libfatune_rt with it.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "gpu/objects.hpp"
#include "model/wisdom/kernel_facts.hpp"

namespace fatune {

/// q, k, v, out, lse; the last is null when the problem has none.
using TensorBuffers = std::array<gpu::Buffer, 5>;
Result<TensorBuffers> make_tensors(const gpu::Context& context, const Attention& problem);

/// Everything that a launch passes stays where it is; launch() is one cuLaunchKernelEx a stage.
class BareLaunch {
 public:
  static Result<std::unique_ptr<BareLaunch>> make(const gpu::Context& context,
                                                  const KernelFacts& facts,
                                                  const std::string& cubin,
                                                  const TensorBuffers& tensors, CUstream stream);
  BareLaunch() = default;
  BareLaunch(const BareLaunch&) = delete;
  BareLaunch& operator=(const BareLaunch&) = delete;

  bool launch();

 private:
  struct Stage {
    CUfunction function = nullptr;
    gpu::LaunchConfig made;
    CUlaunchConfig config{};  ///< points into it
    std::vector<void*> arguments;
  };
  Status add_stage(const KernelFacts& facts, const StageFacts& plan, CUstream stream);

  gpu::Module module_;
  std::array<CUdeviceptr, 5> addresses_{};
  std::vector<gpu::Buffer> scratch_;
  std::vector<CUdeviceptr> scratch_addresses_;
  std::vector<gpu::TensorMap> maps_;
  std::vector<std::unique_ptr<Stage>> stages_;
};

}  // namespace fatune
