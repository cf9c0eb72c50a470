// gemm_plan.hpp - evaluates a manifest's matrix product for one candidate; private to space/.
#pragma once

#include <string>

#include "core/result.hpp"
#include "model/kernel/candidate.hpp"
#include "model/kernel/expression.hpp"

namespace fatune {

/// `path` is the stage's, "stages[0]"; errors name file and field.
Result<GemmPlan> plan_gemm(const GemmSpec& spec, const std::string& path,
                           const Candidate& candidate, const Scope& scope);

}  // namespace fatune
