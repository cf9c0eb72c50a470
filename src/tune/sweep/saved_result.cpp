// saved_result.cpp: Reads rows and rounds from bench files, and from best.json with its journal.
#include "tune/sweep/saved_result.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "model/results/journal.hpp"
#include "tune/sweep/best.hpp"
#include "tune/sweep/comparison.hpp"

namespace fatune {
namespace {

constexpr std::string_view kBenchFamily = "fatune.bench/";
constexpr std::string_view kBestFamily = "fatune.best/";

/// Keeps the requested config of a bench, without its companions.
void keep_finalists(std::vector<FinalRecord>& rows) {
  if (std::ranges::count(rows, RowRole::kFinalist, &FinalRecord::role) == 0) return;
  std::erase_if(rows, [](const FinalRecord& row) { return row.role != RowRole::kFinalist; });
}

Result<SavedResult> read_bench(const Json& json, const std::string& where) {
  FATUNE_TRY(BenchResult bench, read_value<BenchResult>(json, where));
  SavedResult saved{where, std::move(bench.environment), {}};
  for (BenchProblem& problem : bench.problems) {
    keep_finalists(problem.rows);
    for (FinalRecord& row : problem.rows) row.problem = problem.problem.problem;
    std::move(problem.rows.begin(), problem.rows.end(), std::back_inserter(saved.rows));
  }
  return saved;
}

Result<std::filesystem::path> journal_beside(const std::filesystem::path& best) {
  const auto journal = first_file(best.parent_path(), {"journal.jsonl", "journal.jsonl.gz"});
  if (!journal.empty()) return journal;
  return file_error(best.string() +
                    ": has no journal.jsonl beside it, which holds the rounds to compare with; "
                    "name a file of `fatune bench --out` instead");
}

Result<SavedResult> read_best(const Json& json, const std::filesystem::path& path) {
  FATUNE_TRY(const BestFile file, best_file_from_json(json, path.string()));
  std::set<std::string> ids;
  for (std::size_t i = 0; i < file.problems.size(); ++i) {
    const std::optional<BestRow>& best = file.problems[i].best;
    if (!best) continue;
    if (best->id.empty()) return file_error(file.place(i, "best.id") + " is missing");
    ids.insert(best->id);
  }
  if (ids.empty()) {
    return file_error(field_place(path.string(), "best") +
                      " is empty: this sweep found no correct candidate");
  }
  FATUNE_TRY(const std::filesystem::path journal_path, journal_beside(path));
  FATUNE_TRY(Journal journal, load_journal(journal_path));
  SavedResult saved;
  saved.file = path.string();
  saved.environment = std::move(journal.header.environment);
  for (Record& record : journal.records) {
    auto* row = std::get_if<FinalRecord>(&record);
    if (row == nullptr || !ids.contains(row->id)) continue;
    // A resumed run may have had two final phases; the later one counts.
    std::erase_if(saved.rows, [&](const FinalRecord& each) { return each.id == row->id; });
    saved.rows.push_back(std::move(*row));
  }
  if (saved.rows.size() == ids.size()) return saved;
  return file_error(journal_path.string() + ": does not hold the final phase that " +
                    path.string() + " reports");
}

}  // namespace

Status check_same_device(const Environment& then, const Environment& now, const std::string& where,
                         Reuse reuse) {
  const bool resume = reuse == Reuse::kResume;
  const auto described = [&](const Environment& environment) {
    if (environment.device_name.empty()) return std::string("no GPU");
    return fmt::format("{} ({}{})", environment.device_name, name(environment.limits.arch),
                       resume && environment.recorded ? ", recorded" : "");
  };
  if (described(then) != described(now)) {
    return usage_error(fmt::format(
        "{}: {} was measured on {}, this is {}; {}", resume ? "resume" : "--baseline", where,
        described(then), described(now),
        resume ? "start a new run with --out" : "times of two devices are not compared"));
  }
  if (then.driver != now.driver || then.nvrtc != now.nvrtc) {
    log::warn(fmt::format("{} was {} with driver {} and NVRTC {}, now they are {} and {}", where,
                          resume ? "begun" : "measured", then.driver, then.nvrtc, now.driver,
                          now.nvrtc));
  }
  return {};
}

bool holds_measurements(const std::filesystem::path& path) {
  const auto json = load_json(path);
  if (!json || !json->is_object()) return false;
  const auto schema = Fields(*json, path.string()).text_or("schema", "");
  return schema && (schema->starts_with(kBenchFamily) || schema->starts_with(kBestFamily));
}

Result<SavedResult> load_saved_result(const std::filesystem::path& path) {
  FATUNE_TRY(const Json json, load_json(path));
  if (!json.is_object()) return file_error(path.string() + ": is not a JSON object");
  const Fields file(json, path.string());
  FATUNE_TRY(const std::string schema, file.text("schema"));
  if (schema.starts_with(kBenchFamily)) return read_bench(json, path.string());
  if (schema.starts_with(kBestFamily)) return read_best(json, path);
  return file.error("schema",
                    "is '" + schema + "'; a saved result is fatune.bench/1 or fatune.best/1");
}

Result<std::vector<FinalRecord>> saved_rows(const SavedResult& saved, const Problem& problem,
                                            const Environment& here) {
  FATUNE_TRY_STATUS(check_same_device(saved.environment, here, saved.file, Reuse::kCompare));
  std::vector<FinalRecord> rows;
  std::set<std::string> held;
  for (const FinalRecord& row : saved.rows) {
    held.insert(describe(row.problem));
    if (row.problem != problem) continue;
    rows.push_back(row);
    rows.back().recorded = saved.environment.recorded;
  }
  if (!rows.empty()) return rows;
  const std::vector<std::string> names(held.begin(), held.end());
  return usage_error("--baseline: " + saved.file + " holds " +
                     (names.empty() ? "nothing" : join(names, "; ")) + ", not " +
                     describe(problem) + "; times of two problems are not compared");
}

}  // namespace fatune
