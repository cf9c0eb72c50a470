// page_run.hpp - a run's journal to what its page shows: candidates by kernel, finals in order.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/results/fleet_timeline.hpp"
#include "model/results/sweep_result.hpp"
#include "search/datasets/journal_dataset.hpp"
#include "tune/profile/census.hpp"
#include "tune/profile/profile_document.hpp"

namespace fatune {

struct PageProblem {
  /// Finals settled, outcomes counted; its list of candidates is empty, since the groups have them.
  ProblemResult result;
  std::vector<JournalGroup> groups;  ///< one a kernel, in the order of their appearance
};

/// A candidate, and the position of its kernel's group.
struct TriedConfig {
  std::size_t kernel;
  const ToldRecord* config;
};
/// In the order tried, over all kernels.
std::vector<TriedConfig> tried(const PageProblem& problem);

struct PageRunHead {
  std::string name;    ///< the folder's, or the file's
  std::string source;  ///< the journal, as it was named; for messages, not for the page
  /// Of the run as seen from the page's own; empty: not below it, and a page names no other.
  std::string folder{};
  JournalHeader header;
  std::string search_time;  ///< of candidates, which the search minimised
  /// "complete", "interrupted", or "unfinished": the journal has no end.
  std::string status;
  double seconds = 0;  ///< of the search, so far as the journal tells
};
/// Machine code of a finalist.
struct PageCode {
  std::string id;
  bool remade = false;  ///< by another compiler: not what was measured
  std::vector<Census> entries;
  std::vector<std::string> lines;
};
struct PageRun : PageRunHead {
  std::vector<PageProblem> problems;     ///< those of the plan that have a record, in its order
  std::vector<ProfiledConfig> profiles;  ///< of candidates; those that the folder keeps
  std::vector<PageCode> code;            ///< empty as loaded
  std::optional<FleetTimeline> fleet;    ///< of several devices
};

/// The kernel of that name, if its text is the run's.
KernelRef same_kernel(const std::string& name, const RunPlan& plan,
                      const std::vector<KernelRef>& kernels);

/// A run's folder or a journal, plain or .gz. Order, ratios and intervals of the finals are those
/// of the best.json beside the journal, if it lists them; else they are computed as a sweep does.
Result<PageRun> load_page_run(const std::filesystem::path& path, Damage damage = Damage::kRefuse);
/// Of a journal that was loaded from that file.
Result<PageRun> page_run_of(Journal journal, const std::filesystem::path& file);

}  // namespace fatune
