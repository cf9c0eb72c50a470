// de.hpp - differential evolution over positions, with the defaults of Kernel Tuner 1.4.
#pragma once

#include "search/strategies/strategy.hpp"

namespace fatune {

/// best1bin: a population of 16 for each axis of more than one value, at most half the space, from
/// a Latin hypercube. For each member the best so far, moved by 0.7 times the difference of two
/// others, gives six axes in ten of a trial; positions are rounded, and a trial that is not valid
/// becomes the closest valid point. A trial no worse than its member replaces it. Once three
/// generations have changed nothing, all further ones are Latin hypercubes. `space` must outlive
/// it.
std::unique_ptr<Strategy> make_de(const Lattice& space, const StrategyOptions& options);

}  // namespace fatune
