// bench.hpp - implementations on each problem to rows measured side by side.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/kernel.hpp"
#include "model/results/comparison.hpp"
#include "tune/evaluate/evaluator.hpp"
#include "tune/sweep/best.hpp"

namespace fatune {

struct BenchQuestion {
  NamedProblem problem;
  std::vector<Implementation> contestants;  ///< the candidate first, if there is one
};

/// Fills `result` problem by problem and calls `after_each`, so that a later failure loses no row.
/// A problem that the device cannot take on keeps its place with the reason, and is an error when
/// it is the only one.
Status run_bench(const std::vector<BenchQuestion>& questions, const FinalPlan& plan,
                 Evaluator& evaluator, BenchResult& result,
                 const std::function<Status()>& after_each);

/// By how much two runs in fresh processes differ when nothing else does: docs/measuring.md, "How
/// far a number carries".
inline constexpr double kRunToRun = 0.01;

/// Empty when one of the two has no time. `row` is the winner's config measured now, on the device
/// and with the compiler of `here`, from the text of `kernel`.
std::optional<Confirmation> confirm(const SavedBest& saved, const SavedWinner& winner,
                                    const FinalRecord& row, const Environment& here,
                                    const Kernel& kernel);

}  // namespace fatune
