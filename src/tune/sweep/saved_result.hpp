// saved_result.hpp - a file of an earlier measurement to the rows that a gate can compare with.
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

/// True for a file that holds measurements: its schema is fatune.bench/ or fatune.best/. A bare
/// config has none. False when it cannot be read.
bool holds_measurements(const std::filesystem::path& path);

/// Of a bench: the finalists, or all rows when there is none. Of a best.json: the best of
/// each problem, whose rounds come from the journal beside it (journal.jsonl or journal.jsonl.gz).
Result<SavedResult> load_saved_result(const std::filesystem::path& path);

enum class Reuse { kResume, kCompare };
/// A usage error when `where` was measured on another device than this one; another driver or
/// compiler is worth a warning.
Status check_same_device(const Environment& then, const Environment& now, const std::string& where,
                         Reuse reuse);

/// The rows of a problem, `recorded` if the file says so. A usage error when the file was measured
/// on another device, or does not hold the problem; both sides are named.
Result<std::vector<FinalRecord>> saved_rows(const SavedResult& saved, const Problem& problem,
                                            const Environment& here);

}  // namespace fatune
