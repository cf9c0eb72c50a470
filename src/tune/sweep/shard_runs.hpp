// shard_runs.hpp: Loads runs as shards of one plan, explains why runs do not match, and merges them
// into one run.
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

/// Returns the union of the journals of load_shard_runs() as shard 1 of 1. Problems are in the
/// plan's order, with a continuous clock. A result in two runs appears once; if the two differ,
/// that is a usage error.
Result<Journal> merge_journals(const std::vector<ShardRun>& runs);

/// Returns the union of the best.json files, in the plan's order. A reported final phase that the
/// merged journal lacks is an error.
Result<BestFile> merge_best(const std::vector<ShardRun>& runs, const Journal& merged);

/// Renders the journal like the writer of a sweep.
Result<std::string> journal_text(const Journal& journal);

/// Writes best.json and suite.json into a folder without a journal, and then journal.jsonl in one
/// step. A folder with a journal is therefore complete. `date` is today.
Status save_merged(const Journal& journal, const BestFile& best, const std::filesystem::path& out,
                   const std::string& date);

}  // namespace fatune
