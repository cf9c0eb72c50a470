// stop_rule.cpp - samples to "enough", with the reason.
#include "worker/timing/stop_rule.hpp"

#include "model/results/statistics.hpp"

namespace fatune {

std::string_view name(StopReason reason) {
  switch (reason) {
    case StopReason::kNotYet:
      return "not yet";
    case StopReason::kPrecise:
      return "precise";
    case StopReason::kBudget:
      return "budget";
    case StopReason::kSamples:
      return "samples";
    case StopReason::kSlow:
      return "slow";
  }
  return "not yet";
}

StopRule::StopRule(const StopLimits& limits, std::optional<Micros> best)
    : limits_(limits), best_(best) {}

void StopRule::add(Micros per_launch, Micros spent) {
  samples_us_.push_back(per_launch.value);
  spent_ = spent_ + spent;
  reason_ = decide();
}

StopReason StopRule::decide() const {
  const auto count = static_cast<int>(samples_us_.size());
  if (best_ && count >= limits_.kill_after &&
      median(samples_us_) > limits_.kill_ratio * best_->value) {
    return StopReason::kSlow;
  }
  if (count >= limits_.max_samples) return StopReason::kSamples;
  if (count >= limits_.kill_after && spent_ >= limits_.gpu_budget) return StopReason::kBudget;
  if (count >= limits_.min_samples &&
      relative_standard_error(samples_us_) <= limits_.relative_error) {
    return StopReason::kPrecise;
  }
  return StopReason::kNotYet;
}

}  // namespace fatune
