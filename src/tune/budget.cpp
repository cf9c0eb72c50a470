// budget.cpp - divides the trials' half by the kernels.
#include "tune/budget.hpp"

#include <algorithm>

namespace fatune {

Budget::Budget(const RunPlan& plan, const std::vector<std::uint64_t>& sizes, double now_s) {
  if (plan.budget_evaluations > 0) whole_.evaluations = plan.budget_evaluations;
  if (plan.budget_seconds) whole_.deadline_s = now_s + *plan.budget_seconds;
  const bool several = sizes.size() > 1;
  Share half = whole_;
  if (several && half.evaluations != kUnlimited) half.evaluations -= half.evaluations / 2;
  if (several && plan.budget_seconds) half.deadline_s = now_s + *plan.budget_seconds / 2;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Share trial = half;
    if (half.evaluations != kUnlimited) {
      trial.evaluations = std::min(half.evaluations / (sizes.size() - i), sizes[i]);
      half.evaluations -= trial.evaluations;
    }
    trials_.push_back(trial);
  }
}

}  // namespace fatune
