// outcome.cpp - outcomes to their names in the journal and back.
#include "model/results/outcome.hpp"

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/fields.hpp"

namespace fatune {

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kInfeasible:
      return "infeasible";
    case Outcome::kCompileError:
      return "compile_error";
    case Outcome::kDuplicate:
      return "duplicate";
    case Outcome::kLaunchError:
      return "launch_error";
    case Outcome::kWrongResult:
      return "wrong_result";
    case Outcome::kTimeout:
      return "timeout";
    case Outcome::kCrashed:
      return "crashed";
    case Outcome::kPruned:
      return "pruned";
    case Outcome::kMeasured:
      return "measured";
    case Outcome::kUnavailable:
      return "unavailable";
  }
  fail_check("outcome", "an Outcome is one of the ten", __FILE__, __LINE__);
}

Result<Outcome> parse_outcome(std::string_view text) {
  for (const Outcome outcome : kAllOutcomes) {
    if (name(outcome) == text) return outcome;
  }
  return file_error(fmt::format("outcome '{}' is unknown", text));
}

std::string gate_of(Outcome outcome, std::string_view reason) {
  switch (outcome) {
    case Outcome::kInfeasible:
      return "constraints";
    case Outcome::kCompileError:
      return "compilation";
    case Outcome::kLaunchError:
    case Outcome::kTimeout:
    case Outcome::kCrashed:
      return "launch";
    case Outcome::kWrongResult:
      return std::string(reason.substr(0, reason.find(':')));
    default:
      return "";
  }
}

FieldWord<Outcome> word_of(const Outcome*) { return {parse_outcome, kAllOutcomes}; }

}  // namespace fatune
