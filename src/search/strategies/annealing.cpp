// annealing.cpp: Implements simulated annealing.
#include <algorithm>
#include <cmath>

#include "search/strategies/rounds.hpp"

namespace fatune {
namespace {

// Kernel Tuner 1.4's defaults.
constexpr double kHottest = 0.1, kColdest = 0.0001, kAlpha = 0.9975;
constexpr double kHammingChance = 0.2;
constexpr int kStuck = 100;  // consecutive steps to known points before a restart

class Annealing final : public Rounds {
 public:
  Annealing(const Lattice& space, const StrategyOptions& options)
      : Rounds("annealing", space, options) {
    if (!start_.empty()) landing_ = start_.front();
    const std::uint64_t length = std::min(options.budget, space_.size());
    const double steps = std::ceil(std::log(kColdest) / std::log(kAlpha));
    cooling_ = std::pow(kAlpha, steps / static_cast<double>(std::max<std::uint64_t>(length, 1)));
  }

 private:
  std::vector<std::uint64_t> begin_round() override {
    if (at_ && !landing_ && (stuck_ > kStuck || temperature() <= kColdest)) land(fresh());
    if (!at_ && !landing_) land(fresh());
    return {landing_ ? *landing_ : step()};
  }

  Round observe(std::uint64_t index, double cost) override {
    stuck_ = told() == told_before_ ? stuck_ + 1 : 0;
    told_before_ = told();
    if (landing_ != index && !takes(cost)) return Round::kGoesOn;
    landing_.reset();
    at_ = index;
    cost_ = cost;
    return Round::kIsOver;
  }

  /// Predicts the next step as if every pending one were refused: it starts from the same point.
  std::optional<std::uint64_t> look_ahead() override {
    if (landing_ || !at_) return std::nullopt;
    return step();
  }

  void restart() override { land(fresh()); }

  void land(std::uint64_t index) {
    if (temperature() <= kColdest) told_at_start_ = told();
    landing_ = index;
    stuck_ = 0;
  }

  double temperature() const {
    return kHottest * std::pow(cooling_, static_cast<double>(told() - told_at_start_));
  }

  bool takes(double cost) {
    if (cost <= cost_) return true;
    if (cost == kFailedCost) return false;
    const double share = (cost - cost_) / std::max(std::abs(cost_), 1e-20);
    return rng_.chance(std::exp(-share / temperature()));
  }

  std::uint64_t step() {
    std::uint64_t there = *at_;
    const std::size_t axes = space_.axes().size();
    for (std::size_t i = 0; i < axes; ++i) {
      if (!rng_.chance(kHammingChance)) continue;
      there = near_.hamming(space_.point(there), rng_).value_or(there);
    }
    return near_.adjacent(space_.point(there), rng_).value_or(there);
  }

  double cooling_ = 1;  ///< factor on the temperature for each point told
  std::optional<std::uint64_t>
      landing_;  ///< random point to continue from, before its cost is known
  std::optional<std::uint64_t> at_;
  double cost_ = kFailedCost;  ///< cost of `at_`
  std::uint64_t told_before_ = 0;
  std::uint64_t told_at_start_ = 0;  ///< points told when the present cooling schedule began
  int stuck_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_annealing(const Lattice& space, const StrategyOptions& options) {
  return std::make_unique<Annealing>(space, options);
}

}  // namespace fatune
