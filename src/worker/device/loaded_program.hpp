// loaded_program.hpp: Loads a cubin with its launch plan, to be queued on a stream.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "gpu/objects.hpp"
#include "model/problem/problem.hpp"
#include "model/results/measurement.hpp"
#include "worker/baselines/batched_gemm.hpp"
#include "worker/baselines/executable.hpp"
#include "worker/protocol/messages.hpp"
#include "worker/verify/guarded_buffer.hpp"

namespace fatune {

class DeviceProblem;
struct DeviceSession;

/// Owns the module, the libraries' products and the scratch buffers. Moving keeps everything valid.
class LoadedProgram : public Executable {
 public:
  /// Also asks for the shared memory of every stage. A refusal is the candidate's launch error. A
  /// missing library of a stage is an environment error.
  static Result<LoadedProgram> load(const gpu::Context& context, CUstream stream,
                                    const Program& program, const Problem& problem);
  /// Sets the tensors of the next queue(), encodes the tensor maps anew, and queues copies to
  /// constants.
  Status bind(const TensorAddresses& tensors) override;
  Status fill_constants(const TensorAddresses& tensors) override;
  /// Queues all stages in order. Fit for graph capture.
  Status queue() override { return queue_stages(false); }
  Status queue_plainly() override { return queue_stages(true); }
  std::span<const GuardedBuffer> scratch() const override { return scratch_; }
  bool writes_lse() const override { return problem_.is(&Attention::lse); }
  bool is_template() const override { return true; }
  bool begins_early() const override { return stages_.front().shape.dependent; }
  /// The resources of the stage with the most registers. Libraries' own kernels do not count.
  Result<Resources> resources() const override;
  /// The versions and algorithms of libraries' products.
  std::string detail() const override;

 private:
  struct Stage {
    CUfunction function = nullptr;
    gpu::LaunchShape shape;
    std::vector<std::string> arguments;
    std::unique_ptr<BatchedGemm> gemm;  ///< then there is no function; its arguments are a, b, c
  };
  Status add_kernel(const StagePlan& plan, std::span<const std::string> symbols);
  Status add_constants(const LaunchPlan& plan, std::string_view cubin);
  Status add_gemm(const GemmPlan& plan);
  Status add_scratch(const gpu::Context& context, const std::string& name, std::size_t bytes);
  void* value_of(const std::string& argument);
  Status queue_stages(bool plainly);

  gpu::Module module_;
  CUstream stream_ = nullptr;
  Problem problem_;
  std::vector<Stage> stages_;
  std::vector<GuardedBuffer> scratch_;
  std::vector<TensorMapPlan> map_plans_;
  std::string persisting_window_;  ///< fixtures only: the tensor whose lines it keeps
  std::map<std::string, CUdeviceptr> pointers_;
  std::vector<std::pair<std::string, gpu::ModuleConstant>> constants_;  ///< with their inputs
  std::map<std::string, CUtensorMap> maps_;
  std::map<std::string, std::uint64_t> scalars_;  ///< bits of typed values, little-endian
};

/// A bound program of either kind. Owns the machine code of a template. A baseline belongs to the
/// session's host.
class OpenProgram {
 public:
  OpenProgram() = default;
  /// Opens a program, bound to the first set of inputs. A baseline that is opened for a problem for
  /// the first time settles on its plan.
  static Result<OpenProgram> open(DeviceSession& session, DeviceProblem& problem,
                                  const Program& program);
  Executable& operator*() const { return *executable_; }
  Executable* operator->() const { return executable_; }

 private:
  std::unique_ptr<Executable> owned_;
  Executable* executable_ = nullptr;
};

}  // namespace fatune
