// comparison_text.hpp - what was measured side by side, as people read it: a bench, a gate.
#pragma once

#include <string>

#include "model/results/comparison.hpp"
#include "out/text/layout.hpp"

namespace fatune {

/// For each problem a table, the reasons of rows that failed, the configs, and what state the GPU
/// was in.
std::string bench_text(const BenchResult& result, const Paint& paint = {});

/// A table for each problem, the reasons behind what could not be compared, and the decision.
std::string gate_report(const GateResult& result, const Paint& paint = {});
/// For a pull request: one Markdown table over all problems, with the decision as its title.
std::string gate_markdown(const GateResult& result);

}  // namespace fatune
