// examiner.hpp: Declares examination of candidates on a GPU, on a recording or by a compiler.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "judge/protocol/services.hpp"
#include "tune/compile/service.hpp"
#include "tune/evaluate/evaluator.hpp"
#include "tune/sweep/sweep.hpp"

namespace fatune {

struct Examined {
  std::vector<FinalRecord> records;  ///< one record per contestant, in the order given
  std::vector<ErrorRegion> regions;  ///< regions of wrong outputs of the first contestant
};

/// A search among the configs of a submitted kernel, or of fatune's kernels.
struct SearchOrder {
  NamedProblem problem;
  std::vector<KernelRef> kernels;
  RunPlan plan;  ///< strategy and budget; the examiner fills in the other members
  MakeBaselines baselines;
  std::filesystem::path out;            ///< folder of the run
  std::vector<SavedConfig> known = {};  ///< configs to begin with
};

/// Opens compilers and device at the first candidate. A bad candidate is no error.
class Examiner {
 public:
  virtual ~Examiner() = default;
  /// Examines contestants of one problem; the submitted candidate comes first.
  virtual Result<Examined> examine(const std::vector<Implementation>& contestants,
                                   const FinalPlan& plan, const Heartbeat& beat) = 0;
  /// Searches with inputs from a secret seed. Without times fails with an environment error.
  virtual Result<SweepResult> search(const SearchOrder& order, const Heartbeat& beat) = 0;
  /// Opens the device and returns its environment; null if there is no device.
  virtual Result<const Environment*> environment() = 0;
  /// Releases the device until the next examination, for a profiler that needs exclusive access.
  virtual void rest() {}
};

using OpenEvaluator = std::function<Result<std::unique_ptr<Evaluator>>()>;
/// Uses Evaluator::examine() and run_sweep(); cancellation waits for current gates and rounds.
std::unique_ptr<Examiner> make_device_examiner(OpenEvaluator open, KernelRef reference);

/// Compiles the submitted candidate only; a candidate that compiles is `unavailable`.
std::unique_ptr<Examiner> make_compile_examiner(OpenCompilers open, const DeviceLimits& limits);

}  // namespace fatune
