// start_configs.cpp: Loads known configs, and maps the best configs of recordings onto kernels.
#include "cli/options/start_configs.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "core/embedded.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "search/datasets/spaces.hpp"
#include "tune/sweep/warm_start.hpp"

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

void append(std::vector<SavedConfig>& known, std::vector<SavedConfig> more) {
  std::move(more.begin(), more.end(), std::back_inserter(known));
}

/// Folder that holds the run's folder. Relative paths stay relative, because the journal records
/// sources.
std::filesystem::path folder_of(std::filesystem::path run) {
  if (!run.has_filename()) run = run.parent_path();
  const std::filesystem::path folder = run.parent_path();
  return folder.empty() ? "." : folder;
}

constexpr std::string_view kShippedFolder = "configs/known/";

}  // namespace

Result<std::vector<SavedConfig>> shipped_configs() {
  std::vector<SavedConfig> known;
  for (const EmbeddedFile& file : embedded_known_files()) {
    FATUNE_TRY(std::vector<SavedConfig> shipped, parse_known(file.text, std::string(file.path)));
    for (SavedConfig& each : shipped) {
      each.source = fmt::format("{}{} ({})", kShippedFolder, file.path, each.source);
    }
    append(known, std::move(shipped));
  }
  return known;
}

Result<std::vector<SavedConfig>> known_configs(const std::vector<std::string>& paths,
                                               const std::filesystem::path& own_folder) {
  std::vector<SavedConfig> known;
  for (const std::string& path : paths) {
    auto loaded = load_known(path);
    if (!loaded) return Error{loaded.error().kind, "--warm: " + loaded.error().message};
    append(known, *std::move(loaded));
  }
  if (!own_folder.empty()) append(known, known_of_runs(folder_of(own_folder), own_folder));
  FATUNE_TRY(auto shipped, shipped_configs());
  append(known, std::move(shipped));
  return known;
}

std::string known_notice(const RunPlan& plan, const std::vector<SavedConfig>& known,
                         const Arch& arch) {
  std::vector<SavedConfig> first;
  std::vector<std::string> without;
  const std::vector<NamedProblem> problems = shard_problems(plan);
  for (const NamedProblem& named : problems) {
    auto exact = known_exactly(known, plan.kernels, named.problem, arch);
    if (exact.empty()) {
      without.push_back(label(named));
    } else {
      first.push_back(std::move(exact.front()));
    }
  }
  if (plan.strategy == kKnownStrategy) {
    if (without.empty()) return "";
    return fmt::format(
        "no config is known for exactly {}; --budget 0 takes the nearest known configs and the "
        "defaults",
        join(without, "; "));
  }
  if (first.empty()) return "";
  if (problems.size() > 1) {
    return fmt::format(
        "tuned kernels are known for {} of {} problems; --budget 0 uses them without a search",
        first.size(), problems.size());
  }
  const SavedConfig& best = first.front();
  std::string text = "a tuned kernel for this problem ";
  text += best.source.starts_with(kShippedFolder) ? "ships with fatune" : "is in " + best.source;
  if (best.median_us)
    text += fmt::format(" ({} {})", describe(Micros(*best.median_us)),
                        describe(best.time.value_or(Time::kHot)));
  return text + "; --budget 0 uses it without a search";
}

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
    for (const std::string& remark : recording.remarks)
      log::info("--import " + recording.where + ": " + remark);
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
