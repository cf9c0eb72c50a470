// neighbourhood.hpp: Finds valid points near a point, which may itself be invalid.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/space/lattice.hpp"
#include "search/strategies/rng.hpp"

namespace fatune {

/// Each function returns the index of a random neighbour of its kind, never `point` itself; empty
/// when there is none. Words are treated as ordered, as in Kernel Tuner. `space` must outlive it.
class Neighbourhood {
 public:
  explicit Neighbourhood(const Lattice& space);

  /// The neighbour differs in exactly one axis.
  std::optional<std::uint64_t> hamming(const Point& point, Rng& rng) const;
  /// The neighbour differs by at most one position in every axis.
  std::optional<std::uint64_t> strictly_adjacent(const Point& point, Rng& rng) const {
    return one_step_away(point, nullptr, rng);
  }
  /// Like strictly_adjacent(), but positions skip values that no valid point has.
  std::optional<std::uint64_t> adjacent(const Point& point, Rng& rng) {
    if (used_.empty()) find_used();
    return one_step_away(point, &used_, rng);
  }
  /// Returns the point of least difference in positions, summed over the axes. The space must hold
  /// another point than `point`.
  std::uint64_t closest(const Point& point, Rng& rng) const;

 private:
  /// Limits of a walk over the tree of axes: positions from `lower` to `upper`, at distance
  /// `radius` from the point, or at any distance without a radius.
  struct Bounds {
    Point lower, upper;
    std::optional<std::uint64_t> radius;
  };
  struct Walk;
  using Used = std::vector<std::vector<bool>>;

  std::optional<std::uint64_t> one_step_away(const Point& point, const Used* used, Rng& rng) const;
  std::optional<std::uint64_t> in_box(const Point& point, const Bounds& box, Rng& rng) const;
  void find_used();
  void descend(Walk& walk, std::size_t axis, std::uint64_t code, std::uint64_t left) const;

  const Lattice& space_;
  std::vector<std::uint64_t> weights_;  ///< weight of each axis in a code
  Used used_;                           ///< values that valid points have; filled on first use
};

}  // namespace fatune
