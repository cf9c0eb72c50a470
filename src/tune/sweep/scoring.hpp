// scoring.hpp - the final phase's records, and counters of its candidates, to composite scores.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/results/record.hpp"
#include "tune/evaluate/evaluator.hpp"
#include "tune/profile/score.hpp"

namespace fatune {

/// The objective under which the search minimises hot time and the final phase ranks by score.
inline constexpr const char* kScoreObjective = "score";

/// Counts what the hardware does for a candidate; may find nothing.
using CountUse = std::function<Result<DeviceUse>(const Candidate&)>;

struct Scoring {
  std::map<std::string, double> by_id;  ///< of measured candidates; empty: ranked by time
  std::string note;                     ///< which terms are absent, or why there is no score
  std::string winner = {};  ///< id of the one that is best whatever its time; empty: none is
};

/// Of the candidates that were measured, by id.
Result<std::map<std::string, DeviceUse>> count_finalists(
    const std::vector<FinalRecord>& finals, const std::vector<Implementation>& contestants,
    const CountUse& count);

/// SDPA is the fastest measured baseline that is cuDNN's or PyTorch's. Without one the scores would
/// lack the term that gives them their scale, so there are none.
Scoring score_finals(const std::vector<FinalRecord>& finals,
                     const std::map<std::string, DeviceUse>& uses);

}  // namespace fatune
