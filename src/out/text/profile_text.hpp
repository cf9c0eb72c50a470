// profile_text.hpp - a profile as people read it: facts, what binds, counters, shares.
#pragma once

#include <string>

#include "out/text/paint.hpp"
#include "tune/profile/profile.hpp"

namespace fatune::cli {

/// "256 blocks of 128 threads ...", and what is known of registers and shared memory.
std::string facts_text(const LaunchFacts& facts);
/// The reading, or why there is none and what helps.
std::string outcome_text(const LaunchFacts& facts, const NcuOutcome& outcome,
                         const Paint& paint = {});

}  // namespace fatune::cli
