// annealing.hpp - simulated annealing with the defaults of Kernel Tuner 1.4.
#pragma once

#include "search/strategies/strategy.hpp"

namespace fatune {

/// A step goes over Hamming neighbours, for each axis one with probability 1/5, and then to an
/// adjacent point. A better point is always taken, one worse by a share s with probability
/// exp(-s / T). T falls from 0.1 with the points tried, as 0.9975^(3680 n / budget), to 0.0001: at
/// three quarters of the budget, where Kernel Tuner stops and this starts anew from a random point.
/// So it does after 100 steps in a row to points it knew. `space` must outlive it.
std::unique_ptr<Strategy> make_annealing(const Lattice& space, const StrategyOptions& options);

}  // namespace fatune
