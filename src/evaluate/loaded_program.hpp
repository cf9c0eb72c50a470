// loaded_program.hpp - a cubin and a launch plan to work that can be queued on a stream.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "evaluate/messages.hpp"
#include "gpu/launch.hpp"
#include "gpu/objects.hpp"
#include "problem/problem.hpp"
#include "record/measurement.hpp"
#include "verify/guarded_buffer.hpp"

namespace fatune {

/// Device addresses of a problem's tensors.
struct TensorAddresses {
  CUdeviceptr q = 0, k = 0, v = 0, out = 0;
};

/// Owns the module and the scratch buffers. Moving keeps everything valid.
class LoadedProgram {
 public:
  /// Also asks for the shared memory of every stage; a refusal is the candidate's launch error.
  static Result<LoadedProgram> load(const gpu::Context& context, CUstream stream,
                                    const Program& program, const Problem& problem);
  /// Where the next queue() reads and writes; encodes the tensor maps anew.
  Status bind(const TensorAddresses& tensors);
  /// All stages, in order. Only queues; fit for graph capture.
  Status queue();
  Status poison_scratch(std::uint8_t pattern) const;
  const std::vector<GuardedBuffer>& scratch() const { return scratch_; }
  /// Of the stage with the most registers.
  Result<Resources> resources() const;

 private:
  struct Stage {
    CUfunction function = nullptr;
    gpu::LaunchShape shape;
    std::vector<std::string> arguments;
  };
  void* value_of(const std::string& argument);

  gpu::Module module_;
  CUstream stream_ = nullptr;
  Problem problem_;
  std::vector<Stage> stages_;
  std::vector<GuardedBuffer> scratch_;
  std::vector<TensorMapPlan> map_plans_;
  std::map<std::string, CUdeviceptr> pointers_;
  std::map<std::string, CUtensorMap> maps_;
};

}  // namespace fatune
