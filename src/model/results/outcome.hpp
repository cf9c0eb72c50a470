// outcome.hpp - what became of a candidate; data, never an exception.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"

namespace fatune {

enum class Outcome {
  kInfeasible,
  kCompileError,
  kDuplicate,
  kLaunchError,
  kWrongResult,
  kTimeout,
  kCrashed,
  kPruned,
  kMeasured,
  kUnavailable  ///< of an implementation from elsewhere: what it needs is not on this machine
};
inline constexpr std::array kAllOutcomes = {
    Outcome::kInfeasible,  Outcome::kCompileError, Outcome::kDuplicate, Outcome::kLaunchError,
    Outcome::kWrongResult, Outcome::kTimeout,      Outcome::kCrashed,   Outcome::kPruned,
    Outcome::kMeasured,    Outcome::kUnavailable};

std::string_view name(Outcome outcome);  ///< "measured", "compile_error", ...
Result<Outcome> parse_outcome(std::string_view text);
FieldWord<Outcome> word_of(const Outcome*);

/// The gate behind an outcome: "constraints", "compilation", "launch", or the one that the reason
/// of a wrong result begins with. Empty for the outcomes that no gate decides.
std::string gate_of(Outcome outcome, std::string_view reason);

}  // namespace fatune
