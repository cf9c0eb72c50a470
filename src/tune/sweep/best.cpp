// best.cpp: Writes a sweep's result as best.json, and reads it or a bare config.
#include "tune/sweep/best.hpp"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/text.hpp"
#include "model/problem/suite.hpp"
#include "model/results/journal.hpp"
#include "model/results/statistics.hpp"
#include "tune/sweep/finals.hpp"

namespace fatune {
namespace {

constexpr const char* kFamily = "fatune.best";

/// Recognises the spelling before the first release: problem in the file itself, or gates as texts.
bool is_spelled_as_before(const Json& file) {
  const Json::json_pointer gate("/problems/0/best/verify/gates/0");
  return file.contains("best") || (file.contains(gate) && file[gate].is_string());
}

void best_fields(BestRow& x, FieldList& f) {
  f.record("best");
  document::contestant_fields(x, f);
  f("text_hash", x.text_hash)
      .omitted()
      .looks_like("[0-9a-f]{64}")
      .about("SHA-256 over the kernel's template and headers");
  f("verify", x.verification);
  f("resources", x.resources);
  f("conditions", x.conditions);
  f("score", x.score).finite();
}

void file_fields(BestFile& x, FieldList& f) {
  f.document(kFamily, {2, &is_spelled_as_before});
  document::head_fields(x.head, f);
  f("correctness", x.correctness).omitted().one_of("skipped");
  f.as<&device_fields>("device", x.device);
}

/// The fields of a file, its only problem and the best config, all in one object.
struct BareConfig {
  BestFile file;
};

void fields(BareConfig& x, FieldList& f) {
  file_fields(x.file, f);
  x.file.bare = true;
  x.file.problems.resize(1);
  BestProblem& problem = x.file.problems.front();
  if (!problem.best) problem.best.emplace();
  f("name", problem.name);
  f("problem", problem.problem);
  f("gate", problem.gate).or_null();
  best_fields(*problem.best, f);
  f("kernel", problem.best->kernel).required();
}

/// Hash of the kernel's template and headers in this run; empty if the plan lacks the hash.
std::string text_hash(const FinalRecord& record, const RunPlan& plan) {
  const auto found = std::find(plan.kernels.begin(), plan.kernels.end(), record.kernel);
  const auto position = static_cast<std::size_t>(found - plan.kernels.begin());
  return position < plan.kernel_hashes.size() ? plan.kernel_hashes[position] : std::string();
}

BestRow row_of(const FinalRecord& record, const Standing& standing) {
  return {record, "", standing.to_baseline, standing.ties_with_best, standing.score};
}

BestSearch search_of(const ProblemResult& result, const RunPlan& plan) {
  return {.strategy = plan.strategy,
          .seed = plan.seed,
          .objective = plan.objective,
          .evaluations = result.candidates.size(),
          .outcomes = result.outcomes,
          .seconds = result.seconds,
          .valid_points = result.valid_points,
          .raw_points = result.raw_points,
          .gpu_waited_s = result.gpu_waited_s,
          .warm_starts = result.warm_starts,
          .began_with_best = result.best() == nullptr
                                 ? std::nullopt
                                 : std::optional(result.known_best() != nullptr)};
}

/// Sets the results of the final phase.
void show_finals(const ProblemResult& result, const RunPlan& plan, const Environment& environment,
                 BestProblem& problem) {
  problem.best.reset();
  if (const FinalRecord* best = result.best(); best != nullptr) {
    BestRow row = row_of(*best, result.standings.front());
    row.text_hash = text_hash(*best, plan);
    if (row.verification && row.verification->sanitizer.empty())
      row.verification->sanitizer = sanitizer_not_run("not asked for (--sanitize)");
    problem.best = std::move(row);
  }
  problem.finalists.clear();
  problem.baselines.clear();
  for (std::size_t i = 0; i < result.finals.size(); ++i) {
    const FinalRecord& record = result.finals[i];
    auto& rows = record.is_baseline() ? problem.baselines : problem.finalists;
    rows.push_back(row_of(record, result.standings[i]));
  }
  problem.gpu = gpu_of(result.finals, environment);
  problem.gate = result.gate;
  problem.sol = sol_score(result, plan.objective, environment);
}

BestProblem problem_of(const ProblemResult& result, const SweepResult& run) {
  BestProblem problem;
  problem.name = result.problem.name;
  problem.problem = result.problem.problem;
  problem.score_note = result.score_note;
  show_finals(result, run.plan, run.environment, problem);
  problem.search = search_of(result, run.plan);
  return problem;
}

bool has_finals(const ProblemResult& result) { return !result.finals.empty(); }

BestFile file_of(const SweepResult& result) {
  const Environment& environment = result.environment;
  BestFile file;
  file.head = {environment.fatune, result.plan.command, environment.recorded};
  if (result.plan.skip_correctness) file.correctness = "skipped";
  file.device = environment;
  file.helpers = result.helpers;
  file.ranks = result.ranks;
  file.fleet = result.fleet;
  std::vector<double> ratios;
  for (const ProblemResult& problem : result.problems) {
    if (problem.gate) ratios.push_back(problem.gate->ratio.value);
    if (has_finals(problem) || result.plan.problems.size() == 1)
      file.problems.push_back(problem_of(problem, result));
  }
  file.geomean_ratio = geomean(ratios);
  file.seconds = result.seconds;
  return file;
}

/// Rejects a best of a library, which has no config to compile.
Status check_best(const BestFile& file, std::size_t problem) {
  const auto error = [&](const char* key, const std::string& fault) {
    return file_error(file.place(problem, key) + " " + fault);
  };
  const std::optional<BestRow>& best = file.problems[problem].best;
  if (!best)
    return error("best",
                 "is missing or empty: its sweep found no correct candidate, or it is of no sweep");
  if (!best->kernel.empty()) return {};
  if (best->impl.empty()) return error("best.kernel", "is missing");
  return error("best.impl",
               "is " + best->impl + ", which is no kernel of fatune and has no config");
}

}  // namespace

void fields(BestRow& x, FieldList& f) {
  f.record("row", "A contestant of the final phase");
  document::contestant_fields(x, f);
  f("role", x.role);
  outcome_fields(x, f);
  f("to_baseline", x.to_baseline).about("Time over the baseline's");
  f("ties_with_best", x.ties_with_best).omitted();
  f("score", x.score).finite();
  f.derived("margin", x.verification ? std::optional(x.verification->margin) : std::nullopt);
}

void fields(BestSearch& x, FieldList& f) {
  f.record("search");
  f("strategy", x.strategy);
  f("seed", x.seed);
  f("objective", x.objective);
  f("evaluations", x.evaluations);
  f("outcomes", x.outcomes);
  f("seconds", x.seconds).finite();
  f("valid_points", x.valid_points);
  f("raw_points", x.raw_points);
  f("gpu_waited_s", x.gpu_waited_s).finite();
  f("warm_starts", x.warm_starts).omitted();
  f("began_with_best", x.began_with_best).about("Whether the best is one of the warm starts");
}

void fields(BestProblem& x, FieldList& f) {
  f.record("problem", "What became of a problem");
  f("name", x.name).omitted();
  f("problem", x.problem);
  f.derived("label", x.problem ? label({x.name, *x.problem}) : std::string()).omitted();
  f("gpu", x.gpu).omitted().about("UUID, where several measured final phases");
  f.as<&best_fields>("best", x.best).or_null();
  f("score_note", x.score_note).omitted();
  f("finalists", x.finalists);
  f("baselines", x.baselines);
  f("gate", x.gate).or_null();
  f("sol", x.sol);
  f("search", x.search);
}

void fields(BestFile& x, FieldList& f) {
  file_fields(x, f);
  f("problems", x.problems).required();
  f("geomean_ratio", x.geomean_ratio).or_null().finite().positive().about("Of the gates");
  f("seconds", x.seconds).finite();
  f("ranks", x.ranks).about("That mpirun or srun started");
  f("fleet", x.fleet);
  f("helpers", x.helpers).omitted().about("Other devices that measured candidates of searches");
}

std::string BestFile::place(std::size_t problem, const std::string& key) const {
  if (bare) return field_place(where, key);
  return field_place(field_place(where, fmt::format("problems[{}]", problem)), key);
}

void add_helpers(const std::vector<Environment>& more, std::vector<Environment>& helpers) {
  for (const Environment& helper : more) {
    if (std::ranges::find(helpers, helper.device_uuid, &Environment::device_uuid) == helpers.end())
      helpers.push_back(helper);
  }
}

Result<BestFile> best_file_from_json(Json object, const std::string& where) {
  if (!object.is_object()) return file_error(where + ": is not a JSON object");
  // A file written by hand needs no schema.
  if (!object.contains("schema")) object["schema"] = fmt::format("{}/1", kFamily);
  BestFile file;
  if (!object.contains("problems") && object.contains("kernel") && object.contains("config")) {
    FATUNE_TRY(BareConfig config, read_value<BareConfig>(object, where));
    file = std::move(config.file);
  } else {
    FATUNE_TRY(file, read_value<BestFile>(object, where));
  }
  file.where = where;
  return file;
}

Json best_json(const SweepResult& result) { return to_json(file_of(result)); }

Status save_best(const SweepResult& result) {
  if (std::ranges::none_of(result.problems, has_finals)) return {};
  return write_below(result.folder, "best.json", dump_pretty(best_json(result)));
}

std::string why_unverified(const BestRow& best) {
  if (!best.verification) return "it names no gates that the config passed";
  if (best.verification->skipped) return "the sweep ran with --skip-correctness";
  if (best.verification->passed) return "";
  const std::string tool = failed_tool(*best.verification);
  return tool.empty() ? "the config failed a gate" : tool;
}

std::filesystem::path first_file(const std::filesystem::path& folder,
                                 std::initializer_list<const char*> names) {
  std::error_code ignored;
  for (const char* name : names) {
    if (std::filesystem::is_regular_file(folder / name, ignored)) return folder / name;
  }
  return {};
}

Result<std::filesystem::path> find_best_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return path;
  const std::filesystem::path best = first_file(path, {"best.json"});
  if (!best.empty()) return best;
  FATUNE_TRY_STATUS(find_results(path));
  return file_error(path.string() +
                    ": has no best.json. A sweep writes it after its final phase: `fatune resume " +
                    shell_word(path.string()) + "` ends one that was interrupted");
}

Result<BestFile> load_best_file(const std::filesystem::path& path) {
  FATUNE_TRY(const std::filesystem::path found, find_best_file(path));
  FATUNE_TRY(Json json, load_json(found));
  FATUNE_TRY(BestFile file, best_file_from_json(std::move(json), found.string()));
  for (std::size_t i = 0; i < file.problems.size(); ++i) FATUNE_TRY_STATUS(check_best(file, i));
  if (file.problems.empty()) return file_error(field_place(file.where, "problems") + " is empty");
  return file;
}

std::vector<SavedConfig> configs_of(const BestFile& file) {
  std::vector<SavedConfig> configs;
  for (const BestProblem& each : file.problems)
    configs.push_back({each.best->kernel, each.best->config, each.problem, each.name});
  return configs;
}

}  // namespace fatune
