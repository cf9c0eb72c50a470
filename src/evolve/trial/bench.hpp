// bench.hpp: Declares benches, which try a draft on a GPU, with a compiler alone, or from a ledger.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "evolve/protocol/proposal.hpp"
#include "evolve/trial/trial.hpp"
#include "judge/referee/examiner.hpp"
#include "judge/referee/explanation.hpp"
#include "model/problem/suite.hpp"
#include "model/results/sweep_result.hpp"
#include "tune/evaluate/evaluator.hpp"

namespace fatune {

/// How a draft is tried on a problem.
struct BenchOrder {
  std::int64_t evaluations = 12;  ///< configs of a template whose draft names none
  std::uint64_t seed = 42;        ///< seed for the choice of configs
  bool edges = true;              ///< run every gate of a final phase, edge problems included
};

/// Compares a run's best with its start in the same rounds, on one problem.
struct Duel {
  std::string problem;
  std::optional<Time> time;  ///< the compared time
  std::optional<double> start_us, best_us;
  std::optional<Ratio> speedup;  ///< ratio of start to best
  std::string reason;            ///< reason for a missing speed-up
};
void fields(Duel& x, FieldList& f);

/// A kernel with its fastest config on the problem.
struct KernelWithConfig {
  std::string key;
  KernelRef kernel;
  Config config;
};

class Bench {
 public:
  virtual ~Bench() = default;
  virtual const Environment& environment() const = 0;
  /// Returns whether the bench measures times, which rank the trials.
  virtual bool has_times() const { return true; }
  /// A draft's failure is data; only a machine error or an interrupt is an error.
  virtual Result<ShapeTrial> examine(const Draft& draft, const NamedProblem& problem,
                                     const BenchOrder& order) = 0;
  /// Returns the hardware counters of the fastest config in words; empty if there are none.
  virtual Result<std::string> profile(const KernelWithConfig&, const NamedProblem&) {
    return std::string();
  }
  virtual Result<Duel> duel(const KernelWithConfig& start, const KernelWithConfig& best,
                            const NamedProblem& problem, int rounds) = 0;
};

/// Uses the gates and times of an evaluator, and opens a lost device once more. `count` reads
/// hardware counters; null disables counters, and so does a first failure.
Result<std::unique_ptr<Bench>> make_device_bench(OpenEvaluator open, CountKernel count = nullptr);
/// A draft that compiles is `unavailable`, and has no time.
std::unique_ptr<Bench> make_compile_bench(OpenCompilers open, const DeviceLimits& limits);
/// Returns the ledger's result for equal texts; other drafts are `pruned`.
struct Ledger;
std::unique_ptr<Bench> make_recorded_bench(Ledger ledger);

}  // namespace fatune
