// bench.hpp - contestants of each problem to rows measured side by side.
#pragma once

#include <functional>
#include <vector>

#include "core/result.hpp"
#include "model/results/comparison.hpp"
#include "tune/evaluate/evaluator.hpp"

namespace fatune {

struct BenchQuestion {
  NamedProblem problem;
  std::vector<Contestant> contestants;  ///< the candidate first, if there is one
};

/// Fills `result` problem by problem and calls `after_each`, so that a later failure loses no row.
/// A problem that the device cannot take on keeps its place with the reason, and is an error when
/// it is the only one.
Status run_bench(const std::vector<BenchQuestion>& questions, const FinalPlan& plan,
                 Evaluator& evaluator, BenchResult& result,
                 const std::function<Status()>& after_each);

}  // namespace fatune
