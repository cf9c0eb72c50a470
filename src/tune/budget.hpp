// budget.hpp - a problem's evaluations and seconds, shared out over its kernels: trials, then the
// rest.
#pragma once

#include <cstdint>
#include <limits>

#include "journal/plan.hpp"

namespace fatune {

inline constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

/// What one kernel's search may use.
struct Share {
  std::uint64_t evaluations = kUnlimited;
  double deadline_s = std::numeric_limits<double>::infinity();  ///< on the run's clock
};

/// Half of a problem's budget goes to trials of its kernels, evenly (what one leaves unused, to
/// those after it); the other half to the kernel that then leads. A single kernel has it all.
class Budget {
 public:
  Budget(const RunPlan& plan, std::size_t kernels, double now_s);
  /// The share of the next kernel's trial, as of now.
  Share trial(double now_s);
  /// All that is left.
  Share rest() const;
  void use(std::uint64_t evaluations);

 private:
  std::uint64_t evaluations_left_;
  std::uint64_t kept_;  ///< for the leader
  double trials_end_s_, end_s_;
  std::size_t kernels_left_;
};

}  // namespace fatune
