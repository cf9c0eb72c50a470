// export_run.hpp: Exports the winner of a run for the judge.
#pragma once

#include <filesystem>
#include <vector>

#include "cli/options/settings.hpp"
#include "core/result.hpp"
#include "judge/referee/tuning.hpp"
#include "model/kernel/kernel.hpp"

namespace fatune::cli {

/// Exports a run's best config into the folder `export` in it, and returns the files.
Result<std::vector<std::filesystem::path>> export_run(const std::filesystem::path& run,
                                                      const AskExport& asked,
                                                      const std::vector<KernelRef>& catalog,
                                                      const Settings& settings);

}  // namespace fatune::cli
