// budget.cpp - divides the trials' half by the kernels that are left.
#include "tune/budget.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace fatune {

Budget::Budget(const RunPlan& plan, std::size_t kernels, double now_s)
    : evaluations_left_(plan.budget_evaluations == 0 ? kUnlimited : plan.budget_evaluations),
      kept_(kernels > 1 && evaluations_left_ != kUnlimited ? evaluations_left_ / 2 : 0),
      trials_end_s_(std::numeric_limits<double>::infinity()),
      end_s_(std::numeric_limits<double>::infinity()),
      kernels_left_(kernels) {
  if (!plan.budget_seconds) return;
  end_s_ = now_s + *plan.budget_seconds;
  trials_end_s_ = kernels > 1 ? now_s + *plan.budget_seconds / 2 : end_s_;
}

Share Budget::trial(double now_s) {
  FATUNE_CHECK(kernels_left_ > 0, "there are as many trials as kernels");
  Share share;
  if (evaluations_left_ != kUnlimited) {
    share.evaluations = (evaluations_left_ - std::min(kept_, evaluations_left_)) / kernels_left_;
  }
  const double seconds = std::max(0.0, trials_end_s_ - now_s);
  share.deadline_s = now_s + seconds / static_cast<double>(kernels_left_);
  --kernels_left_;
  return share;
}

Share Budget::rest() const { return {evaluations_left_, end_s_}; }

void Budget::use(std::uint64_t evaluations) {
  if (evaluations_left_ != kUnlimited)
    evaluations_left_ -= std::min(evaluations_left_, evaluations);
}

}  // namespace fatune
