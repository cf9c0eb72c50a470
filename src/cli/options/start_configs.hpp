// start_configs.hpp - --warm, --import, earlier runs and what ships with fatune, to the configs
// that a sweep starts from.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/kernel.hpp"
#include "model/results/journal.hpp"
#include "model/results/record.hpp"
#include "search/datasets/recording.hpp"

namespace fatune::cli {

/// Files named by `paths` first, then the runs beside `own_folder`, then what ships with fatune: of
/// two equally near configs the earlier one starts; all with the names that the kernels of the
/// catalog have today. A path that cannot be read is an error.
Result<std::vector<SavedConfig>> known_configs(const std::vector<std::string>& paths,
                                               const std::filesystem::path& own_folder,
                                               const std::vector<KernelRef>& catalog);

Result<std::vector<Recording>> read_imports(const std::vector<std::string>& paths);

/// The few best configs of each recording for each kernel that they map onto, as known for every
/// problem of the plan. Logs what was taken and why the rest was not.
std::vector<SavedConfig> import_known(const std::vector<Recording>& recordings,
                                      const std::vector<KernelRef>& kernels,
                                      const std::vector<NamedProblem>& problems, const Arch& arch);

}  // namespace fatune::cli
