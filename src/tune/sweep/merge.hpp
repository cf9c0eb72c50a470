// merge.hpp: Merges the runs of a plan's shards into one run, as a single sweep would write it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "tune/sweep/shard_runs.hpp"

namespace fatune {

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
