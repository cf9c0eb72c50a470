// bench_output.hpp - rows measured side by side to tables with quantiles and conditions.
#pragma once

#include <string>

#include "model/results/comparison.hpp"
#include "out/text/paint.hpp"

namespace fatune::cli {

/// For each problem a table, the reasons of rows that failed, the configs, and what state the GPU
/// was in.
std::string bench_text(const BenchResult& result, const Paint& paint = {});

}  // namespace fatune::cli
