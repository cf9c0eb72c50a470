// pso.cpp: Implements particle swarm optimisation.
#include <algorithm>
#include <utility>

#include "search/strategies/rounds.hpp"

namespace fatune {
namespace {

// Kernel Tuner 1.4's defaults.
constexpr std::size_t kParticles = 50;
constexpr int kMoves = 190;
constexpr double kInertia = 0.5, kCognitive = 3.5, kSocial = 1.0;

class Pso final : public Rounds {
 public:
  Pso(const Lattice& space, const StrategyOptions& options) : Rounds("pso", space, options) {
    std::size_t longest = 1;
    for (const Axis& axis : space.axes()) longest = std::max(longest, axis.size);
    step_ = 1.0 / static_cast<double>(longest);
  }

 private:
  std::vector<std::uint64_t> begin_round() override {
    while (!swarm_.empty() && moves_ < kMoves) {
      ++moves_;
      for (Particle& particle : swarm_) move(particle);
      if (auto places = valid_places(); !places.empty()) return places;
    }
    settle();
    return valid_places();
  }

  Round observe(std::uint64_t index, double cost) override {
    for (Particle& particle : swarm_) {
      if (particle.place != index) continue;
      if (cost < particle.best_cost) {
        particle.best = particle.position;
        particle.best_cost = cost;
      }
      if (cost <= best_cost_) {
        best_ = particle.position;
        best_cost_ = cost;
      }
    }
    return Round::kGoesOn;
  }

  void restart() override { swarm_.clear(); }

  using Coordinates = std::vector<double>;
  struct Particle {
    Coordinates position, velocity, best;
    double best_cost = kFailedCost;
    std::optional<std::uint64_t> place;  ///< empty where the position is invalid
  };

  /// Starts a new swarm on valid points.
  void settle() {
    const std::size_t half = static_cast<std::size_t>((space_.size() + 1) / 2);
    const std::vector<std::uint64_t> places =
        sample(std::min(kParticles, half), std::exchange(start_, {}));
    swarm_.clear();
    moves_ = 0;
    best_cost_ = kFailedCost;
    for (const std::uint64_t place : places) {
      Particle particle;
      for (const std::uint16_t position : space_.point(place)) {
        particle.position.push_back((position + 0.5) * step_);
        particle.velocity.push_back(2 * rng_.unit() - 1);
      }
      particle.best = particle.position;
      particle.place = place;
      swarm_.push_back(std::move(particle));
    }
    best_ = swarm_.front().position;
  }

  void move(Particle& particle) {
    const double own = kCognitive * rng_.unit(), social = kSocial * rng_.unit();
    Point place(particle.position.size());
    for (std::size_t axis = 0; axis < place.size(); ++axis) {
      double& at = particle.position[axis];
      double& velocity = particle.velocity[axis];
      const std::size_t size = space_.axes()[axis].size;
      velocity =
          kInertia * velocity + own * (particle.best[axis] - at) + social * (best_[axis] - at);
      at = std::clamp(at + velocity, 0.0, step_ * static_cast<double>(size));
      place[axis] =
          static_cast<std::uint16_t>(std::min(static_cast<std::size_t>(at / step_), size - 1));
    }
    particle.place = space_.index_of(place);
  }

  std::vector<std::uint64_t> valid_places() const {
    std::vector<std::uint64_t> places;
    for (const Particle& particle : swarm_) {
      if (!particle.place) continue;
      if (std::ranges::find(places, *particle.place) == places.end())
        places.push_back(*particle.place);
    }
    return places;
  }

  double step_ = 1;  ///< distance of neighbouring positions; the longest axis has length 1
  std::vector<Particle> swarm_;
  Coordinates best_;
  double best_cost_ = kFailedCost;
  int moves_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_pso(const Lattice& space, const StrategyOptions& options) {
  return std::make_unique<Pso>(space, options);
}

}  // namespace fatune
