// standing.hpp - the final phase's records to an order, ratios with intervals, and the gate's
// verdict.
#pragma once

#include <cstdint>
#include <string>

#include "model/results/sweep_result.hpp"
#include "tune/sweep/scoring.hpp"

namespace fatune {

/// Sorts `finals` and fills `standings` and `gate`. Best is the fastest candidate that passed every
/// gate; among those that tie with it by interval, the one that takes least of a multiprocessor
/// (registers and shared memory of a block).
/// With a winner named, that one is best; with scores, the candidate with the highest one instead.
void settle_finals(ProblemResult& result, const std::string& objective, std::uint64_t seed,
                   const Scoring& scoring = {});

}  // namespace fatune
