// saved_result.hpp: Reads rows of an earlier measurement for comparison in a gate.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/problem/problem.hpp"
#include "model/results/measurement.hpp"
#include "model/results/record.hpp"

namespace fatune {

struct SavedResult {
  std::string file;
  Environment environment;
  std::vector<FinalRecord> rows;
};

/// True for a file with measurements: of the schema fatune.bench/ or fatune.best/. False for a bare
/// config or an unreadable file.
bool holds_measurements(const std::filesystem::path& path);

/// Loads the finalists of a bench, or all rows if it has none. From a best.json loads the best of
/// each problem, with rounds of the journal beside it (journal.jsonl or journal.jsonl.gz).
Result<SavedResult> load_saved_result(const std::filesystem::path& path);

enum class Reuse { kResume, kCompare };
/// Returns a usage error if `where` was measured on another device; warns of another driver or
/// compiler.
Status check_same_device(const Environment& then, const Environment& now, const std::string& where,
                         Reuse reuse);

/// Returns the rows of a problem, `recorded` if the file says so. Another device or a missing
/// problem is a usage error that names both sides.
Result<std::vector<FinalRecord>> saved_rows(const SavedResult& saved, const Problem& problem,
                                            const Environment& here);

}  // namespace fatune
