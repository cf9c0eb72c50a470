// budget.cpp - divides what is left by the kernels that are left.
#include "tune/budget.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace fatune {

Budget::Budget(const RunPlan& plan, std::size_t kernels, double now_s)
    : evaluations_left_(plan.budget_evaluations == 0 ? kUnlimited : plan.budget_evaluations),
      end_s_(plan.budget_seconds ? now_s + *plan.budget_seconds
                                 : std::numeric_limits<double>::infinity()),
      kernels_left_(kernels) {}

Share Budget::next(double now_s) {
  FATUNE_CHECK(kernels_left_ > 0, "there are as many shares as kernels");
  const double kernels = static_cast<double>(kernels_left_);
  Share share;
  if (evaluations_left_ != kUnlimited) share.evaluations = evaluations_left_ / kernels_left_;
  share.deadline_s = now_s + std::max(0.0, end_s_ - now_s) / kernels;
  --kernels_left_;
  return share;
}

void Budget::use(std::uint64_t evaluations) {
  if (evaluations_left_ != kUnlimited)
    evaluations_left_ -= std::min(evaluations_left_, evaluations);
}

}  // namespace fatune
