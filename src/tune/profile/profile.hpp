// profile.hpp - all that one profile holds: facts, counters, reading, and each launch's share.
#pragma once

#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "tune/profile/launch_facts.hpp"
#include "tune/profile/ncu_run.hpp"
#include "tune/profile/reading.hpp"

namespace fatune {

/// A kernel's part of an implementation's time.
struct LaunchShare {
  std::string kernel;
  std::size_t launches = 0;
  double time_us = 0;  ///< of all of them
  double share = 0;    ///< from 0 to 1
};
/// Most time first; launches of one name together. Empty when some launch has no time.
std::vector<LaunchShare> breakdown(const std::vector<Counters>& launches);
/// The launch that takes longest, or the first; null when there is none.
const Counters* longest(const std::vector<Counters>& launches);

/// Of one candidate.
struct Profile {
  LaunchFacts facts;
  NcuOutcome outcome;
};
void fields(LaunchShare& x, FieldList& f);
void fields(Profile& x, FieldList& f);

}  // namespace fatune
