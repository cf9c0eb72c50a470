// de.cpp: Implements differential evolution.
#include <algorithm>
#include <cmath>

#include "search/strategies/rounds.hpp"

namespace fatune {
namespace {

// Kernel Tuner 1.4's defaults.
constexpr std::size_t kPerAxis = 16;
constexpr double kWeight = 0.7, kCrossover = 0.6;
constexpr int kStable = 2;       // generations without change before the population is drawn anew
constexpr int kTrialTries = 20;  // attempts at a trial that is new within its generation; chosen

class De final : public Rounds {
 public:
  De(const Lattice& space, const StrategyOptions& options) : Rounds("de", space, options) {
    const auto movable = static_cast<std::size_t>(
        std::ranges::count_if(space.axes(), [](const Axis& axis) { return axis.size > 1; }));
    const std::size_t half = static_cast<std::size_t>((space.size() + 1) / 2);
    population_ = std::max(std::min(kPerAxis * movable, half), std::size_t{1});
  }

 private:
  std::vector<std::uint64_t> begin_round() override {
    select();
    trials_.clear();
    costs_.clear();
    if (members_.empty()) {
      trials_ = hypercube();
      const std::size_t given = std::min(start_.size(), trials_.size());
      std::copy_n(start_.begin(), given, trials_.begin());
      start_.clear();
    } else if (stable_ > kStable || members_.size() < 3) {
      trials_ = hypercube();
    } else {
      for (std::size_t i = 0; i < members_.size(); ++i) trials_.push_back(new_trial(i));
    }
    return trials_;
  }

  Round observe(std::uint64_t, double cost) override {
    costs_.push_back(cost);
    return Round::kGoesOn;
  }

  void restart() override {
    members_.clear();
    costs_.clear();
    stable_ = 0;
    fresh_ = true;
  }

  struct Member {
    std::uint64_t index;
    double cost;
  };

  /// Replaces members by their trials where the trial is no worse.
  void select() {
    if (members_.empty()) {
      for (std::size_t i = 0; i < costs_.size(); ++i) members_.push_back({trials_[i], costs_[i]});
      return;
    }
    bool changed = false;
    for (std::size_t i = 0; i < std::min(costs_.size(), members_.size()); ++i) {
      if (costs_[i] > members_[i].cost || is_member(trials_[i])) continue;
      members_[i] = {trials_[i], costs_[i]};
      changed = true;
    }
    if (!changed) ++stable_;
  }

  bool is_member(std::uint64_t index) const {
    return std::ranges::find(members_, index, &Member::index) != members_.end();
  }

  std::uint64_t new_trial(std::size_t target) {
    for (int i = 0; i < kTrialTries; ++i) {
      const std::uint64_t bred = trial(target);
      if (std::ranges::find(trials_, bred) == trials_.end()) return bred;
    }
    return fresh();
  }

  std::uint64_t trial(std::size_t target) {
    const std::size_t first = other_than(target, target);
    const Point plus = space_.point(members_[first].index);
    const Point minus = space_.point(members_[other_than(target, first)].index);
    const Point best = space_.point(std::ranges::min_element(members_, {}, &Member::cost)->index);
    Point bred = space_.point(members_[target].index);
    const std::size_t sure = static_cast<std::size_t>(rng_.below(bred.size()));
    bool crossed = false;
    for (std::size_t axis = 0; axis < bred.size(); ++axis) {
      const bool crosses = rng_.chance(kCrossover) || (axis == sure && !crossed);
      if (!crosses) continue;
      crossed = true;
      const double moved = best[axis] + kWeight * (plus[axis] - minus[axis]);
      const auto last = static_cast<double>(space_.axes()[axis].size - 1);
      bred[axis] = static_cast<std::uint16_t>(std::clamp(std::round(moved), 0.0, last));
    }
    return nearest_valid(bred);
  }

  std::size_t other_than(std::size_t a, std::size_t b) {
    for (;;) {
      const std::size_t drawn = static_cast<std::size_t>(rng_.below(members_.size()));
      if (drawn != a && drawn != b) return drawn;
    }
  }

  std::uint64_t nearest_valid(const Point& point) {
    const auto index = space_.index_of(point);
    return index ? *index : near_.closest(point, rng_);
  }

  /// Returns a Latin hypercube sample of the population's size. Invalid points become the closest
  /// valid point, and repeats become random points.
  std::vector<std::uint64_t> hypercube() {
    if (fresh_) {
      fresh_ = false;
      return sample(population_);
    }
    std::vector<Point> drawn(population_, Point(space_.axes().size()));
    for (std::size_t axis = 0; axis < space_.axes().size(); ++axis) {
      const std::vector<std::size_t> layers = rng_.order(population_);
      for (std::size_t i = 0; i < population_; ++i) {
        const double share =
            (static_cast<double>(layers[i]) + rng_.unit()) / static_cast<double>(population_);
        drawn[i][axis] =
            static_cast<std::uint16_t>(share * static_cast<double>(space_.axes()[axis].size));
      }
    }
    std::vector<std::uint64_t> found;
    for (const Point& point : drawn) {
      std::uint64_t index = nearest_valid(point);
      if (std::ranges::find(found, index) != found.end()) index = fresh();
      found.push_back(index);
    }
    return found;
  }

  std::size_t population_ = 1;
  std::vector<Member> members_;
  std::vector<std::uint64_t> trials_;
  std::vector<double> costs_;  ///< costs of the trials observed so far
  int stable_ = 0;             ///< generations without change
  bool fresh_ = false;         ///< the next population consists of untried points
};

}  // namespace

std::unique_ptr<Strategy> make_de(const Lattice& space, const StrategyOptions& options) {
  return std::make_unique<De>(space, options);
}

}  // namespace fatune
