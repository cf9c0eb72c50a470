// comparison_text.hpp: Declares the reports of a bench and of a gate.
#pragma once

#include <string>

#include "model/results/comparison.hpp"
#include "report/text/layout.hpp"

namespace fatune {

/// Writes a table per problem, reasons of failed rows, the configs and the state of the GPU.
std::string bench_text(const BenchResult& result, const Paint& paint = {});

/// Writes a table per problem, reasons for missing comparisons, and the decision.
std::string gate_report(const GateResult& result, const Paint& paint = {});
/// Writes one Markdown table over all problems for a pull request, with the decision as its title.
std::string gate_markdown(const GateResult& result);

}  // namespace fatune
