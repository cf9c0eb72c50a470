// budget.cpp - divides the trials' quarter by the kernels; shares by how far behind a kernel is.
#include "tune/sweep/budget.hpp"

#include <algorithm>
#include <cmath>

namespace fatune {
namespace {

constexpr std::uint64_t kTrialPart = 4;  // one of so many; chosen, see decision 0008

// Of the leader's time; chosen among 0.1, 0.2, 0.3 and no share at all on recorded spaces.
constexpr double kBehindForOneEth = 0.1;

double share_of(double best_us, double leading_us) {
  if (!std::isfinite(leading_us)) return 1;
  return std::exp(-(best_us / leading_us - 1) / kBehindForOneEth);
}

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
