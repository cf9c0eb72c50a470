// shard_runs.hpp: Loads runs as shards of one plan, and explains why runs do not match.
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
  std::string file;  ///< path of its journal
  Journal journal;
  std::optional<BestFile> best;  ///< empty: no problem has had its final phase

  const RunPlan& plan() const { return journal.header.plan; }
  const Shard& shard() const { return *plan().shard; }
  bool complete() const;  ///< whether the run ended normally
};

/// Loads folders of runs, or journals beside their best.json, ordered by shard number. A usage
/// error names both sides of a difference in plan, number of shards, fatune, device, driver or
/// NVRTC. Two shards with one problem, or a best.json with a problem of another shard, are usage
/// errors, too.
Result<std::vector<ShardRun>> load_shard_runs(const std::vector<std::filesystem::path>& paths);

/// Returns the named values that runs must share for one table: fatune, device, driver, ...
std::vector<std::pair<const char*, std::string>> circumstances(const Environment& environment);

/// Returns a sentence for each shard without a run, each shard without a complete run, and each run
/// with results that no best.json has.
std::vector<std::string> lacking(const std::vector<ShardRun>& runs);

}  // namespace fatune
