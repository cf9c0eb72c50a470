// points.hpp - how far points are apart, and how new ones come from old: mutation, crossover,
// spread.
#pragma once

#include <span>
#include <vector>

#include "model/space/lattice.hpp"
#include "search/strategies/deck.hpp"
#include "search/strategies/rng.hpp"

namespace fatune {

/// Sum over the axes: 1 for different words; 1/2 for different numbers plus 1/2 times their
/// difference in rank over the axis's length, so that neighbouring tile sizes are nearer than
/// distant ones.
double distance(const Lattice& space, const Point& a, const Point& b);

/// For each value of each axis that `from` has not: of the points with it, the nearest to `from`.
std::vector<Point> nearest_by_value(const Lattice& space, const Point& from,
                                    std::span<const Point> points);

/// Changes each axis with probability 1/d, at least one; a number goes one step up or down in 6 of
/// 10 cases, else to any other value. The result may be invalid: the caller looks it up in the
/// space.
Point mutate(const Lattice& space, const Point& point, Rng& rng);

/// Changes one axis, in the same way.
Point move_one_axis(const Lattice& space, const Point& point, Rng& rng);

/// Takes each axis from one parent or the other. The result may be invalid.
Point crossover(const Point& mother, const Point& father, Rng& rng);

/// The neighbours of a point that are still in the deck, as indices.
std::vector<std::uint64_t> untried_neighbours(const Lattice& space, const Deck& deck,
                                              const Point& point);

/// The index, among `tries` random ones left in the deck, whose point is farthest from its nearest
/// in `known`. The deck must not be empty; nothing is taken from it.
std::uint64_t far_from(const Lattice& space, const std::vector<Point>& known, const Deck& deck,
                       int tries, Rng& rng);

}  // namespace fatune
