// imports.cpp: Reads recordings, and maps the best configs of each onto kernels.
#include "cli/options/imports.hpp"

#include <algorithm>
#include <utility>

#include "core/log.hpp"
#include "search/datasets/spaces.hpp"

namespace fatune::cli {
namespace {

constexpr std::size_t kMostImported = 5;  // best configs of a recording for a kernel; chosen

/// Whether the recording's configs apply to the kernel: only its own kernel if that kernel takes
/// part.
bool applies_to(const Recording& recording, const KernelRef& kernel,
                const std::vector<KernelRef>& kernels) {
  const bool takes_part = std::any_of(kernels.begin(), kernels.end(), [&](const KernelRef& each) {
    return each->manifest.name == recording.name;
  });
  return !takes_part || kernel->manifest.name == recording.name;
}

}  // namespace

Result<std::vector<Recording>> read_imports(const std::vector<std::string>& paths) {
  std::vector<Recording> all;
  for (const std::string& path : paths) {
    auto recordings = read_recordings(path);
    if (!recordings)
      return Error{recordings.error().kind, "--import: " + recordings.error().message};
    std::move(recordings->begin(), recordings->end(), std::back_inserter(all));
  }
  return all;
}

std::vector<SavedConfig> import_known(const std::vector<Recording>& recordings,
                                      const std::vector<KernelRef>& kernels,
                                      const std::vector<NamedProblem>& problems, const Arch& arch) {
  std::vector<SavedConfig> known;
  for (const Recording& recording : recordings) {
    const std::size_t before = known.size();
    for (const KernelRef& kernel : kernels) {
      if (!applies_to(recording, kernel, kernels)) continue;
      const ImportedConfigs imported = import_configs(recording, kernel->manifest, kMostImported);
      log::info("--import " + recording.where + ": for " + kernel->manifest.name + " " +
                imported.note);
      for (const NamedProblem& problem : problems) {
        for (const Json& config : imported.configs) {
          known.push_back({kernel->manifest.name, config, problem.problem, problem.name, arch,
                           recording.where});
        }
      }
    }
    if (known.size() == before)
      log::warn("--import " + recording.where + ": none of its configs maps onto a kernel here");
  }
  return known;
}

}  // namespace fatune::cli
