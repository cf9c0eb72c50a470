// saved_result.cpp - reads rows and rounds back from bench files, and from best.json with its
// journal.
#include "tune/sweep/saved_result.hpp"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "core/log.hpp"
#include "core/text.hpp"
#include "model/results/journal.hpp"

namespace fatune {
namespace {

constexpr std::string_view kBenchFamily = "fatune.bench/";
constexpr std::string_view kBestFamily = "fatune.best/";

Status check_version(const Fields& file, const std::string& schema, std::string_view family) {
  if (schema == std::string(family) + "1") return {};
  return file_error(file.where() + ": is a " + schema +
                    ", written by a newer fatune; this one reads " + std::string(family) + "1");
}

bool is_finalist(const FinalRecord& row) { return row.role == "finalist"; }

/// What a bench is about: the config that was asked for, not its companions.
void keep_finalists(std::vector<FinalRecord>& rows) {
  if (std::none_of(rows.begin(), rows.end(), is_finalist)) return;
  std::erase_if(rows, [](const FinalRecord& row) { return !is_finalist(row); });
}

Result<SavedResult> read_bench(const Fields& file) {
  SavedResult saved;
  saved.file = file.where();
  FATUNE_TRY(const Fields environment, file.object("environment"));
  FATUNE_TRY(saved.environment, environment_from_json(environment.json(), environment.where()));
  FATUNE_TRY(const auto problems, file.objects_or_empty("problems"));
  for (const Fields& problem : problems) {
    std::vector<FinalRecord> rows;
    FATUNE_TRY(const auto entries, problem.objects_or_empty("rows"));
    for (const Fields& entry : entries) {
      FATUNE_TRY(Record record, record_from_json(entry.json(), entry.where()));
      auto* row = std::get_if<FinalRecord>(&record);
      if (row == nullptr) return entry.error("t", "is not 'final', as every row of a bench is");
      rows.push_back(std::move(*row));
    }
    keep_finalists(rows);
    std::move(rows.begin(), rows.end(), std::back_inserter(saved.rows));
  }
  return saved;
}

Result<std::filesystem::path> journal_beside(const std::filesystem::path& best) {
  for (const char* file : {"journal.jsonl", "journal.jsonl.gz"}) {
    std::error_code ignored;
    if (std::filesystem::exists(best.parent_path() / file, ignored))
      return best.parent_path() / file;
  }
  return file_error(best.string() +
                    ": has no journal.jsonl beside it, which holds the rounds to compare with; "
                    "name a file of `fatune bench --out` instead");
}

/// The id of a problem's best; empty when it has none.
Result<std::string> best_id(const Fields& problem) {
  if (!problem.has("best") || problem.json().at("best").is_null()) return std::string();
  FATUNE_TRY(const Fields best, problem.object("best"));
  return best.text("id");
}

Result<std::set<std::string>> best_ids(const Fields& file) {
  std::vector<Fields> problems = {file};
  if (file.has("problems")) {
    FATUNE_TRY(problems, file.objects_or_empty("problems"));
  }
  std::set<std::string> ids;
  for (const Fields& problem : problems) {
    FATUNE_TRY(std::string id, best_id(problem));
    if (!id.empty()) ids.insert(std::move(id));
  }
  if (ids.empty()) return file.error("best", "is empty: this sweep found no correct candidate");
  return ids;
}

Result<SavedResult> read_best(const Fields& file, const std::filesystem::path& path) {
  FATUNE_TRY(const auto ids, best_ids(file));
  FATUNE_TRY(const std::filesystem::path journal_path, journal_beside(path));
  FATUNE_TRY(Journal journal, load_journal(journal_path));
  SavedResult saved;
  saved.file = file.where();
  saved.environment = std::move(journal.header.environment);
  for (Record& record : journal.records) {
    auto* row = std::get_if<FinalRecord>(&record);
    if (row == nullptr || !ids.contains(row->id)) continue;
    // A resumed run may have had its final phase twice; the later one counts.
    std::erase_if(saved.rows, [&](const FinalRecord& each) { return each.id == row->id; });
    saved.rows.push_back(std::move(*row));
  }
  if (saved.rows.size() == ids.size()) return saved;
  return file_error(journal_path.string() + ": does not hold the final phase that " +
                    path.string() + " reports");
}

std::string describe(const Environment& environment) {
  return environment.device_name + " (" + name(environment.limits.arch) + ")";
}

Status check_device(const SavedResult& saved, const Environment& here) {
  if (describe(saved.environment) != describe(here)) {
    return usage_error("--baseline: " + saved.file + " was measured on " +
                       describe(saved.environment) + ", this is " + describe(here) +
                       "; times of two devices are not compared");
  }
  if (saved.environment.driver != here.driver || saved.environment.nvrtc != here.nvrtc) {
    log::warn(saved.file + " was measured with driver " + saved.environment.driver + " and NVRTC " +
              saved.environment.nvrtc + ", now they are " + here.driver + " and " + here.nvrtc);
  }
  return {};
}

}  // namespace

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
  if (schema.starts_with(kBenchFamily)) {
    FATUNE_TRY_STATUS(check_version(file, schema, kBenchFamily));
    return read_bench(file);
  }
  if (schema.starts_with(kBestFamily)) {
    FATUNE_TRY_STATUS(check_version(file, schema, kBestFamily));
    return read_best(file, path);
  }
  return file.error("schema",
                    "is '" + schema + "'; a saved result is fatune.bench/1 or fatune.best/1");
}

Result<std::vector<FinalRecord>> saved_rows(const SavedResult& saved, const Problem& problem,
                                            const Environment& here) {
  FATUNE_TRY_STATUS(check_device(saved, here));
  std::vector<FinalRecord> rows;
  std::set<std::string> held;
  for (const FinalRecord& row : saved.rows) {
    held.insert(fatune::describe(row.problem));
    if (row.problem == problem) rows.push_back(row);
  }
  if (!rows.empty()) return rows;
  const std::vector<std::string> names(held.begin(), held.end());
  return usage_error("--baseline: " + saved.file + " holds " +
                     (names.empty() ? "nothing" : join(names, "; ")) + ", not " +
                     fatune::describe(problem) + "; times of two problems are not compared");
}

}  // namespace fatune
