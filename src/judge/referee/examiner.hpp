// examiner.hpp - candidates to what became of them: on a GPU or its recording through gates and
// rounds, without one through the compiler.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "judge/protocol/tool.hpp"
#include "tune/compile/service.hpp"
#include "tune/evaluate/evaluator.hpp"

namespace fatune {

/// Opens compilers and device at the first candidate.
class Examiner {
 public:
  virtual ~Examiner() = default;
  /// All on one problem, the submitted candidate first. An error is that of the machine, or a
  /// cancelled heartbeat's.
  virtual Result<std::vector<FinalRecord>> examine(const std::vector<Implementation>& contestants,
                                                   const FinalPlan& plan,
                                                   const Heartbeat& beat) = 0;
  /// Of the device, once something was examined on it; null where there is none.
  virtual const Environment* environment() const = 0;
};

using OpenEvaluator = std::function<Result<std::unique_ptr<Evaluator>>()>;
/// Evaluator::examine(). What is cancelled on the device ends with the gates and rounds under way.
std::unique_ptr<Examiner> make_device_examiner(OpenEvaluator open);

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
