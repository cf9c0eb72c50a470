// reserves.hpp: Chooses candidates that replace the fastest ones if these are refused.
#pragma once

#include <vector>

#include "core/result.hpp"
#include "model/results/record.hpp"
#include "tune/evaluate/implementations.hpp"
#include "tune/sweep/finals.hpp"

namespace fatune {

/// For each parameter on which all finalists of the fastest kernel agree, adds its fastest
/// candidate with another value. Finalists often fail for a common value. Returns at most eight,
/// the fastest first.
Result<std::vector<Implementation>> choose_reserves(const FinalsRequest& request,
                                                    const std::vector<Implementation>& contestants,
                                                    const std::vector<CandidateRecord>& candidates);

}  // namespace fatune
