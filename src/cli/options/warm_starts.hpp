// warm_starts.hpp - the shipped configs, earlier runs and --warm turned into known configs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/kernel.hpp"
#include "model/results/record.hpp"

namespace fatune::cli {

/// Files named by `paths` first, then the runs beside `own_folder`, then what ships with fatune: of
/// two equally near configs the earlier one starts; all with the names that the kernels of the
/// catalog have today. A path that cannot be read is an error.
Result<std::vector<KnownConfig>> known_configs(const std::vector<std::string>& paths,
                                               const std::filesystem::path& own_folder,
                                               const std::vector<KernelRef>& catalog);

}  // namespace fatune::cli
