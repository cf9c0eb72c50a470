// pso.hpp - particle swarm optimisation with the defaults of Kernel Tuner 1.4.
#pragma once

#include "search/strategies/strategy.hpp"

namespace fatune {

/// 50 particles, at most half the space, from valid points at random. Each keeps half its velocity
/// and is drawn, by up to 3.5 times the distance, to its own best point and, by up to 1, to the
/// best of all; it is measured at the nearest position of each axis, and a place that is not valid
/// counts as a failure and costs nothing. After 190 moves Kernel Tuner stops; this starts anew.
/// `space` must outlive it.
std::unique_ptr<Strategy> make_pso(const Lattice& space, const StrategyOptions& options);

}  // namespace fatune
