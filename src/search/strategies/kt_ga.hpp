// kt_ga.hpp - a generational genetic algorithm with the defaults of Kernel Tuner 1.4.
#pragma once

#include "search/strategies/strategy.hpp"

namespace fatune {

/// Generations of 26, the first at random. Each next one is bred whole from the one before, without
/// survivors: two parents of different rank, drawn by Beta(1, 2.5), are crossed at one point; a
/// child that is not valid becomes a strictly adjacent, else an adjacent, else a Hamming neighbour
/// of itself; one child in 55 moves to a Hamming neighbour. After 90 generations Kernel Tuner
/// stops; this starts anew. `space` must outlive it.
std::unique_ptr<Strategy> make_kt_ga(const Lattice& space, const StrategyOptions& options);

}  // namespace fatune
