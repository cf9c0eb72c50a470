// examiner.hpp - candidates to what became of them: on a GPU or its recording through gates and
// rounds, without one through the compiler.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "judge/protocol/tool.hpp"
#include "tune/compile/service.hpp"
#include "tune/evaluate/evaluator.hpp"
#include "tune/sweep/sweep.hpp"

namespace fatune {

struct Examined {
  std::vector<FinalRecord> records;  ///< of the contestants, in their order
  std::vector<ErrorRegion> regions;  ///< of the first one's wrong outputs
};

/// A search among the configs of a submitted kernel.
struct SearchOrder {
  NamedProblem problem;
  KernelRef kernel;
  RunPlan plan;  ///< strategy and budget; the rest is filled in
  MakeBaselines baselines;
  std::filesystem::path out;  ///< the run's folder
};

/// Opens compilers and device at the first candidate. Errors are those of the machine, or a
/// cancelled heartbeat's.
class Examiner {
 public:
  virtual ~Examiner() = default;
  /// All on one problem, the submitted candidate first.
  virtual Result<Examined> examine(const std::vector<Implementation>& contestants,
                                   const FinalPlan& plan, const Heartbeat& beat) = 0;
  /// Inputs by a seed that nobody knows. An environment error where nothing can be timed.
  virtual Result<SweepResult> search(const SearchOrder& order, const Heartbeat& beat) = 0;
  /// Of the device, which is opened for it; null where there is none.
  virtual Result<const Environment*> environment() = 0;
  /// Lets the device go until it is needed again: a profiler wants it alone.
  virtual void rest() {}
};

using OpenEvaluator = std::function<Result<std::unique_ptr<Evaluator>>()>;
/// By Evaluator::examine() and run_sweep(). What is cancelled ends with the gates and rounds under
/// way.
std::unique_ptr<Examiner> make_device_examiner(OpenEvaluator open, KernelRef reference);

/// A compiler, and how it identifies itself for a kernel.
struct Compilers {
  std::unique_ptr<CompileService> service;
  std::function<std::string(const Kernel&)> identity;
};
using OpenCompilers = std::function<Result<Compilers>()>;
/// Of the submitted candidate alone. What compiles is `unavailable`, with the reason that no gate
/// ran.
std::unique_ptr<Examiner> make_compile_examiner(OpenCompilers open, const DeviceLimits& limits);

}  // namespace fatune
