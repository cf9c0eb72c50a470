// kernel_profile.hpp: Reports the hardware counters of a judged kernel in words.
#pragma once

#include <functional>
#include <string>

#include "core/json.hpp"
#include "judge/referee/judgement.hpp"
#include "tune/profile/profile.hpp"

namespace fatune {

struct AskProfile {
  std::string id;
};
struct KernelProfile {
  JudgedKernel judgement;
  Profile profile;  ///< without counters, the profile has the reason and the remedy
};
void fields(AskProfile& x, FieldList& f);
void fields(KernelProfile& x, FieldList& f);

/// Profiles a candidate that passed every gate.
using CountKernel =
    std::function<Result<NcuOutcome>(const Candidate& candidate, const DeviceLimits& limits)>;

}  // namespace fatune
