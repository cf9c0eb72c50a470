// stagnation.hpp - detects from the observed costs that a search has stopped making progress.
#pragma once

#include <cmath>
#include <limits>
#include <optional>

namespace fatune {

class Stagnation {
 public:
  void tell(std::optional<double> cost) {
    ++since_progress_;
    if (!cost) return;
    if (!std::isfinite(best_) || *cost < best_ - kProgress * std::abs(best_)) since_progress_ = 0;
    best_ = std::fmin(best_, *cost);
  }
  bool reached() const { return since_progress_ >= kPatience; }
  void restart() { since_progress_ = 0; }

 private:
  // Chosen.
  static constexpr int kPatience = 40;        ///< evaluations
  static constexpr double kProgress = 0.005;  ///< a gain below this share is none

  double best_ = std::numeric_limits<double>::infinity();
  int since_progress_ = 0;
};

}  // namespace fatune
