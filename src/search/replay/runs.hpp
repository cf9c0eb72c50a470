// runs.hpp - a strategy on recorded data, many times over, to what it tried in which order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "search/datasets/recording.hpp"

namespace fatune {

/// How often, how long, and how a strategy is run.
struct RunOptions {
  std::string strategy;
  std::size_t repeats = 100;
  std::uint64_t budget = 220;  ///< evaluations of a run, failures included; the strategy knows it
  /// A run then ends when what it evaluated took that long, and not by the budget.
  std::optional<double> most_seconds = {};
  std::size_t batch = 1;  ///< so many are in flight: asked for and not told yet
  std::uint64_t seed = 42;
  bool one_lever = false;
  std::size_t jobs = 0;  ///< threads; 0: as many as the machine has cores
};

/// One run: indices into the lattice in the order in which they were told.
using Trace = std::vector<std::uint32_t>;

struct Runs {
  std::vector<Trace> traces;  ///< one a repeat
  double seconds = 0;         ///< of processor time in the strategy itself, over all repeats
};

/// The same for any number of threads: each repeat's seed comes from its number. `seconds` holds
/// what evaluating each config of the lattice takes; it may be empty without a limit of time. Fails
/// for an unknown strategy, and when it is interrupted.
Result<Runs> run_repeats(const Recording& recording, const std::vector<double>& seconds,
                         const RunOptions& options);

}  // namespace fatune
