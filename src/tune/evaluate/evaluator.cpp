// evaluator.cpp - names of objectives and of candidates.
#include "tune/evaluate/evaluator.hpp"

#include <utility>

namespace fatune {

std::string_view name(Objective objective) { return objective == Objective::kHot ? "hot" : "cold"; }

Result<Objective> parse_objective(std::string_view text) {
  if (text == "hot") return Objective::kHot;
  if (text == "cold") return Objective::kCold;
  return usage_error("--objective: '" + std::string(text) + "' is neither hot nor cold");
}

Implementation implementation_of(Candidate candidate, std::string role) {
  std::string impl = "fatune:" + candidate.kernel->manifest.name;
  return {std::move(impl), std::move(role), std::move(candidate)};
}

}  // namespace fatune
