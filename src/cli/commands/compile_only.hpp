// compile_only.hpp - `fatune sweep --compile-only`: compiles a space for an architecture, no GPU
// needed.
#pragma once

#include <string>
#include <vector>

#include "cli/options/settings.hpp"
#include "core/result.hpp"
#include "model/kernel/kernel.hpp"
#include "model/results/plan.hpp"

namespace fatune::cli {

struct CompileOnly {
  std::string arch;  ///< "sm_90a"
  std::size_t jobs = 0;
};
/// Compiles up to the plan's budget of configs for each problem and kernel and prints what came
/// out. Exit code: 1 when a config did not compile.
Result<int> compile_only(const CompileOnly& request, const RunPlan& plan,
                         const std::vector<KernelRef>& kernels, const Settings& settings);

}  // namespace fatune::cli
