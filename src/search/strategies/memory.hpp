// memory.hpp - the points asked and the costs observed so far, by index.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "model/space/lattice.hpp"
#include "search/strategies/deck.hpp"
#include "search/strategies/rng.hpp"

namespace fatune {

inline constexpr double kFailedCost = std::numeric_limits<double>::infinity();

/// A search that returns to an observed point reads its cost here and spends no evaluation. `space`
/// must outlive it.
class Memory {
 public:
  explicit Memory(const Lattice& space) : space_(space), deck_(space.size()) {}

  const Lattice& space() const { return space_; }
  /// The points not asked yet.
  Deck& deck() { return deck_; }
  bool asked(std::uint64_t index) const { return !deck_.has(index); }

  void tell(std::uint64_t index, std::optional<double> cost);
  /// kFailedCost for a failure; empty before it is told.
  std::optional<double> cost(std::uint64_t index) const;
  std::uint64_t told() const { return costs_.size(); }
  /// The point of least cost; empty before the first success.
  std::optional<std::uint64_t> best() const { return best_; }

  /// Up to `count` different points, at least one, at random: points not asked yet as long as there
  /// are any. The space must not be empty.
  std::vector<std::uint64_t> sample(std::size_t count, Rng& rng) const;
  std::uint64_t fresh(Rng& rng) const;  ///< one of them

 private:
  const Lattice& space_;
  Deck deck_;
  std::unordered_map<std::uint64_t, double> costs_;
  std::optional<std::uint64_t> best_;
  double best_cost_ = kFailedCost;
};

}  // namespace fatune
