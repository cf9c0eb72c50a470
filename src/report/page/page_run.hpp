// page_run.hpp: Declares a run as its page shows it: candidates by kernel, finals in order.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/results/fleet_timeline.hpp"
#include "model/results/sweep_result.hpp"
#include "search/datasets/journal_dataset.hpp"
#include "tune/profile/census.hpp"
#include "tune/profile/profile.hpp"

namespace fatune {

struct PageProblem {
  /// Finals are settled and outcomes counted; `groups` has the candidates.
  ProblemResult result;
  std::vector<JournalGroup> groups;  ///< one group per kernel, in the order of appearance
};

/// A candidate, and the position of its kernel's group.
struct TriedConfig {
  std::size_t kernel;
  const ToldRecord* config;
};
/// Returns the candidates of all kernels in the order tried.
std::vector<TriedConfig> tried(const PageProblem& problem);

struct PageRunHead {
  std::string name;    ///< name of the folder or the file
  std::string source;  ///< path of the journal as given; for messages, not for the page
  /// Path of the run's folder relative to the page; empty if the folder is not below the page.
  std::string folder{};
  JournalHeader header;
  Time search_time = Time::kHot;  ///< time that the search minimised
  /// "complete", "interrupted", or "unfinished" for a journal without an end.
  std::string status;
  double seconds = 0;  ///< duration of the search, as far as recorded
};
/// Machine code of a finalist.
struct PageCode {
  std::string id;
  bool remade = false;  ///< compiled by another compiler than the measured code
  std::vector<Census> entries;
  std::vector<std::string> lines;
};
struct PageRun : PageRunHead {
  std::vector<PageProblem> problems;     ///< problems that have records, in the plan's order
  std::vector<ProfiledConfig> profiles;  ///< profiles in the folder
  std::vector<PageCode> code;            ///< empty after loading
  std::optional<FleetTimeline> fleet;    ///< set for several devices
};

/// Returns the kernel of the name if its text is the run's; else null.
KernelRef same_kernel(const std::string& name, const RunPlan& plan,
                      const std::vector<KernelRef>& kernels);

/// Loads a run's folder or a journal, plain or .gz. Order, ratios and intervals of the finals come
/// from the best.json beside the journal if it lists the finals; else they are computed as in a
/// sweep.
Result<PageRun> load_page_run(const std::filesystem::path& path, Damage damage = Damage::kRefuse);
/// Builds the run of a journal that was loaded from `file`.
Result<PageRun> page_run_of(Journal journal, const std::filesystem::path& file);

/// Returns a distinct name for each run: its GPU, else its name, else the shortest part of its path
/// that tells it apart.
std::vector<std::string> run_labels(std::span<const PageRun> runs);

}  // namespace fatune
