// ils.hpp - greedy iterated local search: climb, jump a little, climb again.
#pragma once

#include "search/strategies/strategy.hpp"

namespace fatune {

/// From a point it looks at the Hamming neighbours, axes and values in random order, and moves to
/// the first that is better, until none is. Then it walks at random over three axes in ten, and
/// climbs again; after 50 climbs in a row without a new best, it goes on from a random point. The
/// settings are Kernel Tuner 1.4's. Its own greedy_ils differs in two ways: it jumps after each
/// single improvement, and its neighbours pile up changes along the axes. `space` must outlive it.
std::unique_ptr<Strategy> make_ils(const Lattice& space, const StrategyOptions& options);

}  // namespace fatune
