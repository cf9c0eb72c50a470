// kernel_turns.cpp - shares by how far behind the leader a kernel is.
#include "tune/sweep/kernel_turns.hpp"

#include <algorithm>
#include <cmath>

namespace fatune {
namespace {

// Of the leader's time; chosen among 0.1, 0.2, 0.3 and no share at all on recorded spaces.
constexpr double kBehindForOneEth = 0.1;

double share_of(double best_us, double leading_us) {
  if (!std::isfinite(leading_us)) return 1;
  return std::exp(-(best_us / leading_us - 1) / kBehindForOneEth);
}

}  // namespace

std::size_t next_kernel(std::span<const KernelStanding> kernels) {
  double leading_us = std::numeric_limits<double>::infinity();
  for (const KernelStanding& kernel : kernels) {
    if (!kernel.exhausted) leading_us = std::min(leading_us, kernel.best_us);
  }
  std::size_t next = kernels.size();
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].exhausted) continue;
    const double turns =
        static_cast<double>(kernels[i].asked + 1) / share_of(kernels[i].best_us, leading_us);
    if (turns >= least) continue;
    least = turns;
    next = i;
  }
  return next;
}

}  // namespace fatune
