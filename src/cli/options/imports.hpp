// imports.hpp - results of other tuners to configs that a sweep starts from.
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/kernel.hpp"
#include "model/problem/suite.hpp"
#include "model/results/record.hpp"
#include "search/datasets/recording.hpp"

namespace fatune::cli {

Result<std::vector<Recording>> read_imports(const std::vector<std::string>& paths);

/// The few best configs of each recording for each kernel that they map onto, as known for every
/// problem of the plan. Logs what was taken and why the rest was not.
std::vector<SavedConfig> import_known(const std::vector<Recording>& recordings,
                                      const std::vector<KernelRef>& kernels,
                                      const std::vector<NamedProblem>& problems, const Arch& arch);

}  // namespace fatune::cli
