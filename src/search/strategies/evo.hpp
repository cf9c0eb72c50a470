// evo.hpp - a Gaussian process chooses among neighbours and children of the best points, and random
// ones.
#pragma once

#include "search/strategies/strategy.hpp"

namespace fatune {

/// Start points, then points far from one another; from then on the point of largest expected
/// improvement, under a model of all observations, among untried neighbours of the best points,
/// children bred from them, and random points. Points in flight count as measured, at what the
/// model expects. A space that fits the budget is tried whole, the promising first. `space` must
/// outlive it.
std::unique_ptr<Strategy> make_evo(const Lattice& space, const StrategyOptions& options);

}  // namespace fatune
