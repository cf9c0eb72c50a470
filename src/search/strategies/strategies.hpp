// strategies.hpp - one function for each strategy that make_strategy() knows.
#pragma once

#include "search/strategies/strategy.hpp"

namespace fatune {

/// Start points, then points far from one another; from then on the point of largest expected
/// improvement, under a model of all observations, among untried neighbours of the best points,
/// children bred from them, and random points. Points in flight count as measured, at what the
/// model expects. A space that fits the budget is tried whole, the promising first. `space` must
/// outlive it.
std::unique_ptr<Strategy> make_evo(const Lattice& space, const StrategyOptions& options);

/// Start points, then points far from one another, then children of the twelve best told so far:
/// crossover and mutation of parents won in tournaments, and single-axis moves around the three
/// best. Without progress for 40 evaluations, all but the four best make room for distant points. A
/// space that fits the budget is tried whole. `space` must outlive it.
std::unique_ptr<Strategy> make_ga(const Lattice& space, const StrategyOptions& options);

/// Generations of 26, the first at random. Each next one is bred whole from the one before, without
/// survivors: two parents of different rank, drawn by Beta(1, 2.5), are crossed at one point; a
/// child that is not valid becomes a strictly adjacent, else an adjacent, else a Hamming neighbour
/// of itself; one child in 55 moves to a Hamming neighbour. After 90 generations Kernel Tuner
/// stops; this starts anew. `space` must outlive it.
std::unique_ptr<Strategy> make_kt_ga(const Lattice& space, const StrategyOptions& options);

/// From a point it looks at the Hamming neighbours, axes and values in random order, and moves to
/// the first that is better, until none is. Then it walks at random over three axes in ten, and
/// climbs again; after 50 climbs in a row without a new best, it goes on from a random point. The
/// settings are Kernel Tuner 1.4's. Its own greedy_ils differs in two ways: it jumps after each
/// single improvement, and its neighbours pile up changes along the axes. `space` must outlive it.
std::unique_ptr<Strategy> make_ils(const Lattice& space, const StrategyOptions& options);

/// A step goes over Hamming neighbours, for each axis one with probability 1/5, and then to an
/// adjacent point. A better point is always taken, one worse by a share s with probability
/// exp(-s / T). T falls from 0.1 with the points tried, as 0.9975^(3680 n / budget), to 0.0001: at
/// three quarters of the budget, where Kernel Tuner stops and this starts anew from a random point.
/// So it does after 100 steps in a row to points it knew. `space` must outlive it.
std::unique_ptr<Strategy> make_annealing(const Lattice& space, const StrategyOptions& options);

/// best1bin: a population of 16 for each axis of more than one value, at most half the space, from
/// a Latin hypercube. For each member the best so far, moved by 0.7 times the difference of two
/// others, gives six axes in ten of a trial; positions are rounded, and a trial that is not valid
/// becomes the closest valid point. A trial no worse than its member replaces it. Once three
/// generations have changed nothing, all further ones are Latin hypercubes. `space` must outlive
/// it.
std::unique_ptr<Strategy> make_de(const Lattice& space, const StrategyOptions& options);

/// 50 particles, at most half the space, from valid points at random. Each keeps half its velocity
/// and is drawn, by up to 3.5 times the distance, to its own best point and, by up to 1, to the
/// best of all; it is measured at the nearest position of each axis, and a place that is not valid
/// counts as a failure and costs nothing. After 190 moves Kernel Tuner stops; this starts anew.
/// `space` must outlive it.
std::unique_ptr<Strategy> make_pso(const Lattice& space, const StrategyOptions& options);

/// The start points come first. `space` must outlive the strategy.
std::unique_ptr<Strategy> make_random(const Lattice& space, const StrategyOptions& options);

/// The order is plain on purpose: a journal of a whole space then reads like a nested loop. The
/// start points come first, because clearly slower candidates are cut short against the best so
/// far. `space` must outlive the strategy.
std::unique_ptr<Strategy> make_exhaustive(const Lattice& space, const StrategyOptions& options);

}  // namespace fatune
