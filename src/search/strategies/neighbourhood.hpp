// neighbourhood.hpp - the valid points near a point that need not be valid itself.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/space/lattice.hpp"
#include "search/strategies/rng.hpp"

namespace fatune {

/// Each kind gives one of its points at random, as an index, never the point itself; empty when
/// there is none. All treat words as if their order meant something, as Kernel Tuner does. `space`
/// must outlive it.
class Neighbourhood {
 public:
  explicit Neighbourhood(const Lattice& space);

  /// Differs in exactly one axis.
  std::optional<std::uint64_t> hamming(const Point& point, Rng& rng) const;
  /// Differs by at most one position in every axis.
  std::optional<std::uint64_t> strictly_adjacent(const Point& point, Rng& rng) const {
    return one_step_away(point, nullptr, rng);
  }
  /// Likewise, where values that no valid point has are passed over.
  std::optional<std::uint64_t> adjacent(const Point& point, Rng& rng) {
    if (used_.empty()) find_used();
    return one_step_away(point, &used_, rng);
  }
  /// Of least difference in positions, summed over the axes. The space must hold another point.
  std::uint64_t closest(const Point& point, Rng& rng) const;

 private:
  /// What a walk over the tree of axes may visit: positions from `lower` to `upper`, at distance
  /// `radius` from the point; with no radius, at any.
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
  std::vector<std::uint64_t> weights_;  ///< of each axis in a code
  Used used_;                           ///< which values valid points have; filled when needed
};

}  // namespace fatune
