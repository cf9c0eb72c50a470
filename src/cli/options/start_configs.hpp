// start_configs.hpp: Loads the configs from which a search starts: known ones and other tuners'.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/kernel.hpp"
#include "model/problem/suite.hpp"
#include "model/results/journal.hpp"
#include "model/results/record.hpp"
#include "search/datasets/recording.hpp"

namespace fatune::cli {

/// Sources of the configs from which searches start.
struct StartSources {
  bool known = false;             ///< paths of --warm, runs beside this run, and fatune itself
  std::vector<std::string> warm;  ///< paths
  std::vector<std::string> imports;
};

/// Known configs that ship with fatune.
Result<std::vector<SavedConfig>> shipped_configs();

/// Loads known configs from `paths`, then from runs beside `own_folder` unless it is empty, then
/// from fatune itself. The earlier of two equally near configs starts first. An unreadable path is
/// an error.
Result<std::vector<SavedConfig>> known_configs(const std::vector<std::string>& paths,
                                               const std::filesystem::path& own_folder);

/// Notice "known: fa_wgmma for exactly 4,8,512,64 f16, 5.62 us hot, from FILE; --budget 0 takes
/// it". With --budget 0, names the problems that use the nearest config. May be empty.
std::string known_notice(const RunPlan& plan, const std::vector<SavedConfig>& known,
                         const Arch& arch);

/// Reads the results of other tuners that --import names.
Result<std::vector<Recording>> read_imports(const std::vector<std::string>& paths);

/// Maps the best configs of each recording onto the kernels, as known configs of every problem.
/// Logs each import and the reason of each omission.
std::vector<SavedConfig> import_known(const std::vector<Recording>& recordings,
                                      const std::vector<KernelRef>& kernels,
                                      const std::vector<NamedProblem>& problems, const Arch& arch);

}  // namespace fatune::cli
