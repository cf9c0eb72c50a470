// exhaustive.hpp - every valid point: the start points, then the rest in the order of the space.
#pragma once

#include "search/strategies/strategy.hpp"

namespace fatune {

/// The order is plain on purpose: a journal of a whole space then reads like a nested loop. The
/// start points come first, because clearly slower candidates are cut short against the best so
/// far. `space` must outlive the strategy.
std::unique_ptr<Strategy> make_exhaustive(const Lattice& space, const StrategyOptions& options);

}  // namespace fatune
