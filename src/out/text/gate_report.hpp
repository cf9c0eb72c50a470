// gate_report.hpp - a gate's result as people read it: on a terminal, or under a pull request.
#pragma once

#include <string>

#include "model/results/comparison.hpp"
#include "out/text/paint.hpp"

namespace fatune {

/// A table for each problem, the reasons behind what could not be compared, and the decision.
std::string gate_report(const GateResult& result, const Paint& paint = {});
/// One Markdown table over all problems, with the decision as its title.
std::string gate_markdown(const GateResult& result);

}  // namespace fatune
