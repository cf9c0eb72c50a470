// merge.hpp - runs of a plan's shards to one run that reads as if a single sweep had written it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "tune/sweep/shard_runs.hpp"

namespace fatune {

/// The union of their journals, of load_shard_runs(): problem after problem in the plan's order,
/// its clock going on from one to the next; shard 1 of 1. What two runs of one shard both hold
/// stands once, and is a usage error where it differs.
Result<Journal> merge_journals(const std::vector<ShardRun>& runs);

/// What their best.json files say, in the plan's order. A final phase that one of them reports and
/// the merged journal lacks is an error.
Result<BestFile> merge_best(const std::vector<ShardRun>& runs, const Journal& merged);

/// The journal as the writer of a sweep writes it.
Result<std::string> journal_text(const Journal& journal);

/// Writes best.json and suite.json into a folder that has no journal, then all of journal.jsonl at
/// once: where that is, everything is. `date`: of today.
Status save_merged(const Journal& journal, const BestFile& best, const std::filesystem::path& out,
                   const std::string& date);

}  // namespace fatune
