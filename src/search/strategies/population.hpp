// population.hpp - the best points so far, their children, and when those stop to help.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "model/space/lattice.hpp"
#include "search/strategies/deck.hpp"
#include "search/strategies/rng.hpp"
#include "search/strategies/strategy.hpp"

namespace fatune {

/// `space` must outlive it.
class Population {
 public:
  Population(const Lattice& space, const StrategyOptions& options)
      : space_(space), one_lever_(options.one_lever) {}

  static constexpr std::size_t kSize = 12;

  std::size_t size() const { return members_.size(); }
  /// By rank, the best first.
  const Point& member(std::size_t rank) const { return members_[rank].point; }
  /// Keeps it while it is among the best.
  void join(const Point& point, double cost);
  /// Only the best remain.
  void shrink(std::size_t size);

  /// A child of members won in tournaments: crossed over, mutated or both; with one lever,
  /// one of them with one axis changed. It may be invalid or known. There must be a member.
  Point breed(Rng& rng) const;
  /// An untried neighbour of one of the three best, mostly of the best, or else a valid and untried
  /// child; it leaves the deck. Empty when none is found. There must be a member.
  std::optional<std::uint64_t> child(Deck& deck, Rng& rng) const;

 private:
  struct Member {
    Point point;
    double cost;
  };
  const Point& win_tournament(Rng& rng) const;

  const Lattice& space_;
  bool one_lever_;
  std::vector<Member> members_;  ///< ascending cost
};

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
