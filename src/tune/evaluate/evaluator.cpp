// evaluator.cpp - names of objectives.
#include "tune/evaluate/evaluator.hpp"

namespace fatune {

std::string_view name(Objective objective) { return objective == Objective::kHot ? "hot" : "cold"; }

Result<Objective> parse_objective(std::string_view text) {
  if (text == "hot") return Objective::kHot;
  if (text == "cold") return Objective::kCold;
  return usage_error("--objective: '" + std::string(text) + "' is neither hot nor cold");
}

}  // namespace fatune
