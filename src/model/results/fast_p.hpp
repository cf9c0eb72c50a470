// fast_p.hpp: Computes the share of a suite's problems whose kernels are correct and fast.
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
  double share = 0;  ///< share of the problems, from 0 to 1
};
void fields(FastShare& x, FieldList& f);

/// Counts problems whose kernel is correct and more than p times as fast as the baseline:
/// KernelBench's fast_p (arXiv 2502.10517). fast_0 is the share of problems with a correct kernel.
struct FastP {
  std::size_t problems = 0;
  std::vector<FastShare> shares;  ///< for p = 0, 0.5, 0.8, 1, 1.5 and 2, as in KernelBench
};
void fields(FastP& x, FieldList& f);

/// Speed-up of the best kernel over the gate's baseline; 0 without a correct kernel. Empty without
/// a final phase or a baseline; such a problem does not count.
std::optional<double> speedup_of(const ProblemResult& result);
/// Returns the shares; empty if no problem counts.
std::optional<FastP> fast_p(std::span<const double> speedups);

}  // namespace fatune
