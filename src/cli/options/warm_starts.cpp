// warm_starts.cpp - gathers known configs from files, folders and the program itself.
#include "cli/options/warm_starts.hpp"

#include <utility>

#include "core/embedded.hpp"
#include "model/kernel/kernel.hpp"
#include "tune/sweep/warm_start.hpp"

namespace fatune::cli {
namespace {

void append(std::vector<KnownConfig>& known, std::vector<KnownConfig> more) {
  std::move(more.begin(), more.end(), std::back_inserter(known));
}

/// Relative where the run's folder is: sources are written down, and should read alike elsewhere.
std::filesystem::path folder_of(std::filesystem::path run) {
  if (!run.has_filename()) run = run.parent_path();
  const std::filesystem::path folder = run.parent_path();
  return folder.empty() ? "." : folder;
}

}  // namespace

Result<std::vector<KnownConfig>> known_configs(const std::vector<std::string>& paths,
                                               const std::filesystem::path& own_folder,
                                               const std::vector<KernelRef>& catalog) {
  std::vector<KnownConfig> known;
  for (const std::string& path : paths) {
    auto loaded = load_known(path);
    if (!loaded) return Error{loaded.error().kind, "--warm: " + loaded.error().message};
    append(known, *std::move(loaded));
  }
  append(known, known_of_runs(folder_of(own_folder), own_folder));
  for (const EmbeddedFile& file : embedded_known_files()) {
    FATUNE_TRY(std::vector<KnownConfig> shipped, parse_known(file.text, std::string(file.path)));
    append(known, std::move(shipped));
  }
  for (KnownConfig& each : known) update_names(catalog, each.kernel, each.config);
  return known;
}

}  // namespace fatune::cli
