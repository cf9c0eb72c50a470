// kt_ga.cpp: Implements kt-ga: Kernel Tuner's generational genetic algorithm.
#include <algorithm>
#include <cmath>
#include <utility>

#include "search/strategies/rounds.hpp"

namespace fatune {
namespace {

// Kernel Tuner 1.4's defaults, tuned by its authors.
constexpr std::size_t kPopulation = 26;
constexpr std::uint64_t kGenerations = 90;
constexpr double kMutationChance = 1.0 / 55;
constexpr double kBeta = 2.5;

constexpr int kChildTries = 200;  // attempts at a pair of new children; chosen

/// Returns Kernel Tuner's population size; 26 shrinks where it exceeds half the space.
std::size_t population_for(std::uint64_t space_size) {
  if (kPopulation <= space_size / 2) return kPopulation;
  const double scaled = std::round(static_cast<double>(space_size) / kGenerations * 3);
  return std::min(std::max(static_cast<std::size_t>(scaled), std::size_t{2}), kPopulation);
}

class KtGa final : public Rounds {
 public:
  KtGa(const Lattice& space, const StrategyOptions& options)
      : Rounds("kt-ga", space, options), population_(population_for(space.size())) {}

 private:
  std::vector<std::uint64_t> begin_round() override {
    if (scored_.size() < 2 || ++generation_ >= kGenerations) return first_generation();
    const std::vector<std::uint64_t> generation = next_generation();
    scored_.clear();
    return generation;
  }

  Round observe(std::uint64_t index, double cost) override {
    scored_.push_back({index, cost});
    return Round::kGoesOn;
  }

  void restart() override { scored_.clear(); }

  struct Scored {
    std::uint64_t index;
    double cost;
  };

  std::vector<std::uint64_t> first_generation() {
    scored_.clear();
    generation_ = 0;
    return sample(population_, std::exchange(start_, {}));
  }

  std::vector<std::uint64_t> next_generation() {
    std::ranges::stable_sort(scored_, {}, &Scored::cost);
    std::vector<std::uint64_t> generation;
    for (int tries = 0; generation.size() < population_;) {
      const std::size_t before = generation.size();
      if (tries < kChildTries) {
        breed(generation);
      } else {
        generation.push_back(fresh());
      }
      tries = generation.size() > before ? 0 : tries + 1;
    }
    return generation;
  }

  /// Adds the valid and new ones of two children.
  void breed(std::vector<std::uint64_t>& generation) {
    const std::size_t first = rank();
    std::size_t second = rank();
    while (second == first) second = rank();
    const Point mother = space_.point(scored_[first].index);
    const Point father = space_.point(scored_[second].index);
    const auto cut = static_cast<std::ptrdiff_t>(rng_.below(mother.size()));
    Point daughter = mother, son = father;
    std::copy(father.begin() + cut, father.end(), daughter.begin() + cut);
    std::copy(mother.begin() + cut, mother.end(), son.begin() + cut);
    for (const Point& bred : {daughter, son}) {
      const auto child = mutated(repaired(bred));
      if (generation.size() == population_ || !child) continue;
      if (std::ranges::find(generation, *child) == generation.end()) generation.push_back(*child);
    }
  }

  /// Draws a rank; better ranks are likelier. A variate of Beta(1, b) is 1 - u^(1/b).
  std::size_t rank() {
    const double variate = 1 - std::pow(1 - rng_.unit(), 1 / kBeta);
    const auto drawn = static_cast<std::size_t>(variate * static_cast<double>(scored_.size()));
    return std::min(drawn, scored_.size() - 1);
  }

  std::optional<std::uint64_t> repaired(const Point& child) {
    if (const auto index = space_.index_of(child)) return index;
    if (const auto index = near_.strictly_adjacent(child, rng_)) return index;
    if (const auto index = near_.adjacent(child, rng_)) return index;
    return near_.hamming(child, rng_);
  }

  std::optional<std::uint64_t> mutated(std::optional<std::uint64_t> child) {
    if (!child || !rng_.chance(kMutationChance)) return child;
    const auto mutant = near_.hamming(space_.point(*child), rng_);
    return mutant ? mutant : child;
  }

  std::size_t population_;
  std::vector<Scored> scored_;  ///< the present generation, as far as observed
  std::uint64_t generation_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_kt_ga(const Lattice& space, const StrategyOptions& options) {
  return std::make_unique<KtGa>(space, options);
}

}  // namespace fatune
