// standing.hpp - a judged record beside baselines to ratios and a score; what its reader should
// know.
#pragma once

#include <vector>

#include "judge/referee/judgement.hpp"
#include "model/results/measurement.hpp"

namespace fatune {

/// Where the baselines' records are from.
enum class BaselineRounds {
  kSame,    ///< they took turns with the judged one
  kEarlier  ///< measured once for all that is judged on the problem
};

/// Fills ratios and score of a judgement that has times.
Status compare_with(const std::vector<FinalRecord>& baselines, BaselineRounds rounds,
                    const Environment& environment, JudgedKernel& judgement);
/// Compiler warnings, gates that could not run, throttling, less precision than the default config.
std::vector<std::string> warnings_of(const FinalRecord& record);

}  // namespace fatune
