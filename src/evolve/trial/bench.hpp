// bench.hpp - a draft to what became of it on a problem: on a GPU, by a compiler alone, or as a
// ledger remembers it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "evolve/protocol/draft.hpp"
#include "evolve/trial/trial.hpp"
#include "judge/referee/examiner.hpp"
#include "judge/referee/kernel_profile.hpp"
#include "model/problem/suite.hpp"
#include "model/results/sweep_result.hpp"
#include "tune/evaluate/evaluator.hpp"

namespace fatune {

/// How a draft is tried on a problem.
struct BenchOrder {
  std::int64_t evaluations = 12;  ///< configs of a template that names none
  std::uint64_t seed = 42;        ///< of their choice
  bool edges = true;              ///< also every gate of a final phase, edge problems among them
};

/// The best of a run and its start in the same rounds, on one problem.
struct Duel {
  std::string problem;
  std::string time;  ///< that is compared: "in_layer", "plain", "hot"
  std::optional<double> start_us, best_us;
  std::optional<Ratio> speedup;  ///< start over best
  std::string reason;            ///< why there is none
};
void fields(Duel& x, FieldList& f);

/// A kernel with the config that was fastest on the problem.
struct Duellist {
  std::string key;
  KernelRef kernel;
  Config config;
};

class Bench {
 public:
  virtual ~Bench() = default;
  virtual const Environment& environment() const = 0;
  /// Whether it has times, by which trials are ranked.
  virtual bool has_times() const { return true; }
  /// What a draft does wrong is data; an error is that of the machine, or an interrupt.
  virtual Result<ShapeTrial> examine(const Draft& draft, const NamedProblem& problem,
                                     const BenchOrder& order) = 0;
  /// What hardware counters say of the config that was fastest on the problem; empty: nothing.
  virtual Result<std::string> profile(const Duellist&, const NamedProblem&) {
    return std::string();
  }
  virtual Result<Duel> duel(const Duellist& start, const Duellist& best,
                            const NamedProblem& problem, int rounds) = 0;
};

/// Gates and times of an evaluator; opened again once when its device is lost. `count` reads
/// hardware counters, if wanted; after a failure it is not asked again.
Result<std::unique_ptr<Bench>> make_device_bench(OpenEvaluator open, CountKernel count = nullptr);
/// What compiles is `unavailable`, and has no time.
std::unique_ptr<Bench> make_compile_bench(OpenCompilers open, const DeviceLimits& limits);
/// What a ledger holds of the same texts; anything else is `pruned` with the reason "not in the
/// recording".
struct Ledger;
std::unique_ptr<Bench> make_recorded_bench(Ledger ledger);

}  // namespace fatune
