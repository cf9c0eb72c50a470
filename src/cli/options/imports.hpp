// imports.hpp: Imports starting configs of a sweep from other tuners' results.
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

/// Maps the best configs of each recording onto the kernels, as known configs of every problem.
/// Logs each import and the reason of each omission.
std::vector<SavedConfig> import_known(const std::vector<Recording>& recordings,
                                      const std::vector<KernelRef>& kernels,
                                      const std::vector<NamedProblem>& problems, const Arch& arch);

}  // namespace fatune::cli
