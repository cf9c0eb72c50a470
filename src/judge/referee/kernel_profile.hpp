// kernel_profile.hpp - what the hardware counted in a judged kernel, in words.
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
  Profile profile;  ///< of one that was not profiled: why, and what can be done about it
};
void fields(AskProfile& x, FieldList& f);
void fields(KernelProfile& x, FieldList& f);

/// Of a candidate that passed every gate.
using CountKernel =
    std::function<Result<NcuOutcome>(const Candidate& candidate, const DeviceLimits& limits)>;

}  // namespace fatune
