// stop_rule.hpp - decides from the samples so far whether more are needed.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/units.hpp"

namespace fatune {

/// When a series of samples ends.
struct StopLimits {
  int min_samples = 20;       ///< chosen: compiling the next candidate takes longer
  int max_samples = 100;      ///< chosen
  Micros gpu_budget{60'000};  ///< device time of all samples together
  /// Standard error of the median; half a per cent separates neighbours in a ranking.
  double relative_error = 0.005;
  int kill_after = 3;       ///< samples before a candidate may be given up
  double kill_ratio = 2.0;  ///< given up when the median is beyond this multiple of the best
};

enum class StopReason { kNotYet, kPrecise, kBudget, kSamples, kSlow };
std::string_view name(StopReason reason);  ///< "not yet", "precise", "budget", "samples", "slow"

/// Fed one sample after the other; knows no clock and no GPU.
class StopRule {
 public:
  /// `best`: the fastest time so far; without one no candidate is given up as slow.
  StopRule(const StopLimits& limits, std::optional<Micros> best);
  /// A sample: time of one launch, and the device time it took to learn it.
  void add(Micros per_launch, Micros spent);
  bool finished() const { return reason_ != StopReason::kNotYet; }
  StopReason reason() const { return reason_; }
  const std::vector<double>& samples_us() const { return samples_us_; }

 private:
  StopReason decide() const;

  StopLimits limits_;
  std::optional<Micros> best_;
  std::vector<double> samples_us_;
  Micros spent_{0};
  StopReason reason_ = StopReason::kNotYet;
};

}  // namespace fatune
