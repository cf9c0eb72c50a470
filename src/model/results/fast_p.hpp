// fast_p.hpp - results of a suite to the share of its problems that are right and fast.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/fields_fwd.hpp"
#include "model/results/sweep_result.hpp"

namespace fatune {

struct FastShare {
  double p = 0;
  double share = 0;  ///< of the problems, from 0 to 1
};
void fields(FastShare& x, FieldList& f);

/// KernelBench's measure (arXiv 2502.10517): the share of problems whose kernel is right and more
/// than p times as fast as the baseline. fast_0 is the share of those that are right.
struct FastP {
  std::size_t problems = 0;
  std::vector<FastShare> shares;  ///< of p = 0, 0.5, 0.8, 1, 1.5 and 2, as KernelBench has them
};
void fields(FastP& x, FieldList& f);

/// How many times as fast as the gate's baseline the best is; 0 where no kernel is right. Empty
/// without a final phase, or without a baseline to compare with: such a problem does not count.
std::optional<double> speedup_of(const ProblemResult& result);
/// Empty when there is no problem.
std::optional<FastP> fast_p(std::span<const double> speedups);

}  // namespace fatune
