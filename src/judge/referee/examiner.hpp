// examiner.hpp - a candidate to what became of it: on a GPU through every gate, without one through
// the compiler.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "judge/protocol/tool.hpp"
#include "model/kernel/candidate.hpp"
#include "model/results/record.hpp"
#include "tune/compile/service.hpp"
#include "tune/evaluate/evaluator.hpp"

namespace fatune {

/// Opens compilers and device at the first candidate.
class Examiner {
 public:
  virtual ~Examiner() = default;
  /// Compilation and gates, nothing timed; edge problems are left out. An error is that of the
  /// machine, or a cancelled heartbeat's.
  virtual Result<FinalRecord> check(const Candidate& candidate, const Heartbeat& beat) = 0;
};

using OpenEvaluator = std::function<Result<std::unique_ptr<Evaluator>>()>;
/// Inputs are drawn by a seed that no one knows before, anew for each check. A check that is
/// cancelled ends with the gates.
std::unique_ptr<Examiner> make_device_examiner(OpenEvaluator open);

/// A compiler, and how it identifies itself for a kernel.
struct Compilers {
  std::unique_ptr<CompileService> service;
  std::function<std::string(const Kernel&)> identity;
};
using OpenCompilers = std::function<Result<Compilers>()>;
/// What compiles is `unavailable`, with the reason that no gate ran.
std::unique_ptr<Examiner> make_compile_examiner(OpenCompilers open, const DeviceLimits& limits);

}  // namespace fatune
