// budget.hpp - a problem's evaluations and seconds, shared out over its kernels.
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

/// Even shares; what a kernel leaves unused goes to the kernels after it.
class Budget {
 public:
  Budget(const RunPlan& plan, std::size_t kernels, double now_s);
  /// The share of the next kernel, as of now.
  Share next(double now_s);
  void use(std::uint64_t evaluations);

 private:
  std::uint64_t evaluations_left_;
  double end_s_;
  std::size_t kernels_left_;
};

}  // namespace fatune
