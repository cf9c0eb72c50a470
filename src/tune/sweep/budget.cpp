// budget.cpp - divides the trials' quarter by the kernels.
#include "tune/sweep/budget.hpp"

#include <algorithm>

namespace fatune {
namespace {

constexpr std::uint64_t kTrialPart = 4;  // one of so many; chosen, see decision 0008

}  // namespace

Budget::Budget(const RunPlan& plan, const std::vector<std::uint64_t>& sizes, double now_s) {
  if (plan.budget_evaluations > 0) whole_.evaluations = plan.budget_evaluations;
  if (plan.budget_seconds) whole_.deadline_s = now_s + *plan.budget_seconds;
  const bool several = sizes.size() > 1;
  Share all_trials = whole_;
  if (several && whole_.evaluations != kUnlimited) {
    const std::uint64_t quarter = (whole_.evaluations + kTrialPart - 1) / kTrialPart;
    all_trials.evaluations =
        std::min(std::max<std::uint64_t>(quarter, sizes.size()), whole_.evaluations);
  }
  if (several && plan.budget_seconds)
    all_trials.deadline_s = now_s + *plan.budget_seconds / kTrialPart;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Share trial = all_trials;
    if (all_trials.evaluations != kUnlimited) {
      trial.evaluations = std::min(all_trials.evaluations / (sizes.size() - i), sizes[i]);
      all_trials.evaluations -= trial.evaluations;
    }
    trials_.push_back(trial);
  }
}

}  // namespace fatune
