// ils.cpp - climbs to a local optimum, perturbs, climbs again.
#include <algorithm>
#include <numeric>

#include "search/strategies/neighbourhood.hpp"
#include "search/strategies/rounds.hpp"
#include "search/strategies/strategies.hpp"

namespace fatune {
namespace {

// Kernel Tuner 1.4's defaults.
constexpr double kWalkShare = 0.3;  // of the axes, at least one
constexpr int kNoImprovement = 50;  // climbs

class Ils final : public Method {
 public:
  explicit Ils(const MethodInput& input)
      : memory_(input.memory), near_(input.memory.space()), rng_(input.seed) {
    if (!input.start.empty()) landing_ = input.start.front();
  }

  std::vector<std::uint64_t> begin_round() override {
    if (at_ && !landing_) {
      std::vector<std::uint64_t> around = neighbours();
      if (climbing_ && !around.empty()) {
        climbing_ = false;
        return around;
      }
      landing_ = jump();
    }
    if (!landing_) landing_ = memory_.fresh(rng_);
    return {*landing_};
  }

  Round hear(std::uint64_t index, double cost) override {
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

 private:
  /// All Hamming neighbours of the present point, axis by axis, both in random order.
  std::vector<std::uint64_t> neighbours() {
    const Point here = memory_.space().point(*at_);
    std::vector<std::uint64_t> found;
    for (const std::size_t axis : shuffled(here.size())) {
      Point other = here;
      for (const std::size_t value : shuffled(memory_.space().axes()[axis].size)) {
        other[axis] = static_cast<std::uint16_t>(value);
        const auto index = memory_.space().index_of(other);
        if (index && *index != *at_) found.push_back(*index);
      }
    }
    return found;
  }

  std::vector<std::size_t> shuffled(std::size_t count) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    rng_.shuffle(order);
    return order;
  }

  /// Where the next climb begins, the present one having ended.
  std::uint64_t jump() {
    fruitless_ = cost_ < best_ ? 0 : fruitless_ + 1;
    best_ = std::min(best_, cost_);
    if (fruitless_ >= kNoImprovement) {
      fruitless_ = 0;
      return memory_.fresh(rng_);
    }
    std::uint64_t there = *at_;
    const auto axes = static_cast<double>(memory_.space().axes().size());
    for (int i = 0; i < std::max(1, static_cast<int>(kWalkShare * axes)); ++i) {
      const auto next = near_.hamming(memory_.space().point(there), rng_);
      if (!next) return memory_.fresh(rng_);
      there = *next;
    }
    return there;
  }

  const Memory& memory_;
  Neighbourhood near_;
  Rng rng_;
  std::optional<std::uint64_t> landing_;  ///< where a climb begins, before its cost is heard
  std::optional<std::uint64_t> at_;
  double cost_ = kFailedCost;  ///< of `at_`
  double best_ = kFailedCost;
  bool climbing_ = false;  ///< the neighbours have not been looked at
  int fruitless_ = 0;      ///< climbs
};

}  // namespace

std::unique_ptr<Strategy> make_ils(const Lattice& space, const StrategyOptions& options) {
  return make_rounds("ils", space, options, make_method<Ils>);
}

}  // namespace fatune
