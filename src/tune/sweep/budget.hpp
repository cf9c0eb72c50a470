// budget.hpp - a problem's budget, shared out over its kernels: trials, then turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "model/results/journal.hpp"

namespace fatune {

inline constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

/// How far searches may go.
struct Share {
  std::uint64_t evaluations = kUnlimited;
  double deadline_s = std::numeric_limits<double>::infinity();  ///< on the run's clock
};

/// A quarter of a problem's budget goes to trials of its kernels, evenly and at least one candidate
/// each (what a small space leaves, to those after it); they then compete for the rest. A single
/// kernel has it all.
class Budget {
 public:
  /// `sizes` are the valid configs of each kernel, ascending.
  Budget(const RunPlan& plan, const std::vector<std::uint64_t>& sizes, double now_s);
  /// What one kernel's trial may use; all trials have the same deadline.
  const Share& trial(std::size_t kernel) const { return trials_.at(kernel); }
  /// What all of them together may use.
  const Share& whole() const { return whole_; }

 private:
  Share whole_;
  std::vector<Share> trials_;
};

struct KernelStanding {
  double best_us = std::numeric_limits<double>::infinity();  ///< told so far
  std::uint64_t asked = 0;                                   ///< since its trial
  bool exhausted = false;
};

/// The kernel that has been asked least for its share, which falls by e for each tenth that its
/// best is behind the leader's; the number of kernels when all are exhausted. Without any time all
/// shares are the same. See docs/decisions/0008-kernels-compete-for-the-budget.md.
std::size_t next_kernel(std::span<const KernelStanding> kernels);

}  // namespace fatune
