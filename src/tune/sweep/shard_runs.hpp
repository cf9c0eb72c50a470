// shard_runs.hpp - folders of runs to shards of one plan, or to what keeps them apart.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "model/results/journal.hpp"
#include "tune/sweep/best.hpp"

namespace fatune {

struct ShardRun {
  std::string file;  ///< its journal
  Journal journal;
  std::optional<BestFile> best;  ///< empty: no problem has had its final phase

  const RunPlan& plan() const { return journal.header.plan; }
  const Shard& shard() const { return *plan().shard; }
  bool complete() const;  ///< the run came to its end
};

/// Folders of runs, or journals beside their best.json; in the order of their numbers. A usage
/// error names both sides of whatever differs: plan, number of shards, fatune, device, driver,
/// NVRTC; and two shards with one problem, or a best.json with one that the shard of its journal
/// has not.
Result<std::vector<ShardRun>> load_shard_runs(const std::vector<std::filesystem::path>& paths);

/// What runs must have in common to stand in one table, by name: fatune, device, driver, ...
std::vector<std::pair<const char*, std::string>> circumstances(const Environment& environment);

/// A sentence for each shard that no run is of, for each whose runs did not come to their end, and
/// for each run with results that no best.json has.
std::vector<std::string> lacking(const std::vector<ShardRun>& runs);

}  // namespace fatune
