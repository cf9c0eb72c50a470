// reserves.hpp - the candidates of a search to those that take part where its fastest are refused.
#pragma once

#include <vector>

#include "core/result.hpp"
#include "model/results/record.hpp"
#include "tune/evaluate/implementations.hpp"
#include "tune/sweep/finals.hpp"

namespace fatune {

/// For each parameter that is the same in all finalists of the fastest kernel, its fastest
/// candidate that has another value: finalists are refused for what they have in common. At most
/// eight, the fastest first.
Result<std::vector<Implementation>> choose_reserves(const FinalsRequest& request,
                                                    const std::vector<Implementation>& contestants,
                                                    const std::vector<CandidateRecord>& candidates);

}  // namespace fatune
