// ga.hpp - a steady-state genetic algorithm: spread start, small population, one child at a time.
#pragma once

#include "search/strategies/strategy.hpp"

namespace fatune {

/// Start points, then points far from one another, then children of the twelve best told so far:
/// crossover and mutation of parents won in tournaments, and single-axis moves around the three
/// best. Without progress for 40 evaluations, all but the four best make room for distant points. A
/// space that fits the budget is tried whole. `space` must outlive it.
std::unique_ptr<Strategy> make_ga(const Lattice& space, const StrategyOptions& options);

}  // namespace fatune
