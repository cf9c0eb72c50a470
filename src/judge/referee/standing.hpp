// standing.hpp: Compares a judged record with baselines and collects warnings about the record.
#pragma once

#include <vector>

#include "judge/referee/judgement.hpp"
#include "model/results/measurement.hpp"

namespace fatune {

/// The rounds in which the baselines were measured.
enum class BaselineRounds {
  kSame,    ///< same rounds as the judged kernel
  kEarlier  ///< measured once for all judgements of the problem
};

/// Fills in the ratios and the score of a judgement that has times.
Status compare_with(const std::vector<FinalRecord>& baselines, BaselineRounds rounds,
                    const Environment& environment, JudgedKernel& judgement);
/// Returns compiler warnings, gates not run, throttling, and loss of precision to the default.
std::vector<std::string> warnings_of(const FinalRecord& record);

}  // namespace fatune
