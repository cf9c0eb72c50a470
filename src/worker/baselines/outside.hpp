// outside.hpp: Opens implementations from elsewhere and keeps them for a problem.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "gpu/objects.hpp"
#include "model/problem/problem.hpp"
#include "worker/baselines/executable.hpp"
#include "worker/protocol/implementation.hpp"

namespace fatune {

/// The problem, device and settings on which an implementation is opened.
struct OutsideSetting {
  const gpu::Context& context;
  CUstream stream;
  Problem problem;
  std::int64_t l2_bytes = 0;
  std::string device_uuid{};              ///< for processes that share the device; empty: the first
  std::optional<OperationPlan> custom{};  ///< the plan of a declared operation
};

/// Choice among cuDNN's plans: the first that its heuristic names, or the fastest of all that it
/// offers.
enum class CudnnPlan { kHeuristic, kFastest };
struct CudnnFunctions;
class TorchProcess;

// Each function fails with an environment error that says what to install if something is missing.
// An implementation that cannot do the problem is a usage error.

Result<std::unique_ptr<Executable>> open_cudnn(
    const OutsideSetting& setting, CudnnPlan plan,
    const std::vector<std::filesystem::path>& library_folders);
/// Returns open_cudnn() with this library; its functions must outlive the executable.
Result<std::unique_ptr<Executable>> open_cudnn_with(const CudnnFunctions& functions,
                                                    const OutsideSetting& setting, CudnnPlan plan);
/// `backend`: flash, cudnn, efficient, math, auto, a package beside PyTorch,
/// "python:FILE:FUNCTION" with an absolute FILE, "torch:EXPR" or "torch.compile:EXPR". A backend
/// that cannot do the problem is an error. One process serves every backend and problem, and is
/// started again when it died; the executable does not outlive it.
Result<std::unique_ptr<Executable>> open_torch(TorchProcess& process, const std::string& backend,
                                               const std::string& python,
                                               const OutsideSetting& setting);
/// Sends the orders of open_torch() to the process ahead, without waiting.
void open_torch_ahead(TorchProcess& process, const std::string& backend, const std::string& python,
                      const OutsideSetting& setting);

/// Keeps library handles and helper processes for the life of the worker, and executables for the
/// life of a problem: all of them are slow to open.
class OutsideHost {
 public:
  OutsideHost();
  ~OutsideHost();
  OutsideHost(const OutsideHost&) = delete;
  OutsideHost& operator=(const OutsideHost&) = delete;

  /// Begins to open programs that will be asked for on the same problem: helper processes start,
  /// libraries are loaded. A program that fails here fails again in open().
  void expect(const std::vector<OutsideProgram>& programs, const OutsideSetting& setting);
  /// Forgets the executables of the problem before. If this is the expected problem, PyTorch's
  /// process begins with the first of its own programs.
  void begin(const OutsideSetting& setting);
  bool holds(const std::string& impl) const { return open_.contains(impl); }
  /// An environment error says what is missing and what installs it. The executable stays the
  /// host's, until the next begin().
  Result<Executable*> open(const OutsideProgram& program, const OutsideSetting& setting);

 private:
  using Executables = std::map<std::string, std::unique_ptr<Executable>>;

  std::unique_ptr<TorchProcess> torch_;
  Executables open_, expected_;
  Problem expected_problem_;
  std::optional<OutsideProgram> first_of_torch_;  ///< the first expected one
};

/// Returns which external implementations this machine can run, and why not others. Looks for
/// libraries and asks Python for PyTorch, which can take seconds. Makes no GPU context in this
/// process.
std::vector<Availability> availability(const OutsideOptions& options);

}  // namespace fatune
