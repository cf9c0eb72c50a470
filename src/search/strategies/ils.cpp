// ils.cpp: Implements greedy iterated local search.
#include <algorithm>

#include "search/strategies/rounds.hpp"

namespace fatune {
namespace {

// Kernel Tuner 1.4's defaults.
constexpr double kWalkShare = 0.3;  // share of the axes in a random walk, at least one axis
constexpr int kNoImprovement = 50;  // climbs without a new best before a random restart

class Ils final : public Rounds {
 public:
  Ils(const Lattice& space, const StrategyOptions& options) : Rounds("ils", space, options) {
    if (!start_.empty()) landing_ = start_.front();
  }

 private:
  std::vector<std::uint64_t> begin_round() override {
    if (at_ && !landing_) {
      std::vector<std::uint64_t> around = neighbours();
      if (climbing_ && !around.empty()) {
        climbing_ = false;
        return around;
      }
      landing_ = jump();
    }
    if (!landing_) landing_ = fresh();
    return {*landing_};
  }

  Round observe(std::uint64_t index, double cost) override {
    if (landing_ == index || cost < cost_) {
      landing_.reset();
      at_ = index;
      cost_ = cost;
      climbing_ = true;
      return Round::kIsOver;
    }
    return Round::kGoesOn;
  }

  void restart() override {
    at_.reset();
    landing_.reset();
    fruitless_ = 0;
  }

  /// Returns all Hamming neighbours of the present point, axes and values in random order.
  std::vector<std::uint64_t> neighbours() {
    const Point here = space_.point(*at_);
    std::vector<std::uint64_t> found;
    for (const std::size_t axis : rng_.order(here.size())) {
      Point other = here;
      for (const std::size_t value : rng_.order(space_.axes()[axis].size)) {
        other[axis] = static_cast<std::uint16_t>(value);
        const auto index = space_.index_of(other);
        if (index && *index != *at_) found.push_back(*index);
      }
    }
    return found;
  }

  /// Returns the point where the next climb begins.
  std::uint64_t jump() {
    fruitless_ = cost_ < best_ ? 0 : fruitless_ + 1;
    best_ = std::min(best_, cost_);
    if (fruitless_ >= kNoImprovement) {
      fruitless_ = 0;
      return fresh();
    }
    std::uint64_t there = *at_;
    const auto axes = static_cast<double>(space_.axes().size());
    for (int i = 0; i < std::max(1, static_cast<int>(kWalkShare * axes)); ++i) {
      const auto next = near_.hamming(space_.point(there), rng_);
      if (!next) return fresh();
      there = *next;
    }
    return there;
  }

  std::optional<std::uint64_t> landing_;  ///< start of a climb, before its cost is known
  std::optional<std::uint64_t> at_;
  double cost_ = kFailedCost;  ///< cost of `at_`
  double best_ = kFailedCost;
  bool climbing_ = false;  ///< the neighbours of `at_` were not evaluated yet
  int fruitless_ = 0;      ///< climbs without a new best
};

}  // namespace

std::unique_ptr<Strategy> make_ils(const Lattice& space, const StrategyOptions& options) {
  return std::make_unique<Ils>(space, options);
}

}  // namespace fatune
