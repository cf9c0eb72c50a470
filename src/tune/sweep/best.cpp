// best.cpp - a sweep's result to best.json, and the fields of fatune.best/1.
#include "tune/sweep/best.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "model/problem/work.hpp"

namespace fatune {
namespace {

constexpr const char* kFamily = "fatune.best";
constexpr int kVersion = 1;

void time_fields(Timing& x, FieldList& f) {
  f.record("times", "In microseconds");
  f("median_us", x.median_us).required().finite().positive();
  f.pair("ci95_us", x.ci95_low_us, x.ci95_high_us).about("Bootstrap interval of the median");
  f.pair("iqr_us", x.q1_us, x.q3_us);
  f("samples", x.samples).at_least(1);
}

void contestant_fields(BestRow& x, FieldList& f) {
  f("impl", x.impl);
  f("kernel", x.kernel).omitted();
  f("config", x.config).object().omitted().schema(kConfigSchema);
  f("id", x.id).omitted().looks_like(kIdPattern);
  f("detail", x.detail).omitted();
  f("external", x.external).omitted();
  f.as<&time_fields>("hot", x.hot);
  f.as<&time_fields>("cold", x.cold);
  std::optional<double> tflops, gbytes_per_s;
  if (x.hot) {
    const Seconds time = to_seconds(Micros(x.hot->median_us));
    if (counts_flops(x.problem)) {
      tflops = (flops(x.problem) / time).value;
    } else {
      gbytes_per_s = gigabytes_per_second(x.problem, time);
    }
  }
  f.derived("tflops", tflops).finite().positive();
  f.derived("gbytes_per_s", gbytes_per_s).finite().positive();
}

void best_fields(BestRow& x, FieldList& f) {
  f.record("best");
  contestant_fields(x, f);
  f("text_hash", x.text_hash)
      .omitted()
      .looks_like("[0-9a-f]{64}")
      .about("SHA-256 over the kernel's template and headers");
  f("verify", x.verification);
  f("resources", x.resources);
  f("conditions", x.conditions);
  f("score", x.score).finite();
}

/// A bare config: the members of a file, of its problem and of its best one in one object.
struct BareConfig {
  BestFile file;
};

void head_fields(BestFile& x, FieldList& f) {
  f.document(kFamily, kVersion);
  f("fatune", x.fatune);
  f("command", x.command);
  f("recorded", x.recorded);
  f("correctness", x.correctness).omitted().one_of("skipped");
  f("device", x.device);
}

void fields(BareConfig& x, FieldList& f) {
  head_fields(x.file, f);
  BestProblem& problem = *x.file.single;
  if (!problem.best) problem.best.emplace();
  f("name", problem.name);
  f("problem", problem.problem);
  f("gate", problem.gate).or_null();
  best_fields(*problem.best, f);
  f("kernel", problem.best->kernel).required();
}

/// Of the kernel's template and headers in this run; empty when the plan does not tell.
std::string text_hash(const FinalRecord& record, const RunPlan& plan) {
  const auto found = std::find(plan.kernels.begin(), plan.kernels.end(), record.kernel);
  const auto position = static_cast<std::size_t>(found - plan.kernels.begin());
  return position < plan.kernel_hashes.size() ? plan.kernel_hashes[position] : std::string();
}

BestRow row_of(const FinalRecord& record, const Standing& standing) {
  BestRow row{record, "", standing.to_baseline, standing.ties_with_best, standing.score};
  return row;
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
          .warm_starts = result.warm_starts};
}

BestProblem problem_of(const ProblemResult& result, const RunPlan& plan) {
  BestProblem problem;
  problem.name = result.problem.name;
  problem.problem = result.problem.problem;
  if (const FinalRecord* best = result.best(); best != nullptr) {
    BestRow row = row_of(*best, result.standings.front());
    row.text_hash = text_hash(*best, plan);
    if (row.verification && row.verification->sanitizer.empty())
      row.verification->sanitizer = sanitizer_not_run("not asked for (--sanitize)");
    problem.best = std::move(row);
  }
  problem.score_note = result.score_note;
  for (std::size_t i = 0; i < result.finals.size(); ++i) {
    const FinalRecord& record = result.finals[i];
    auto& rows = record.role == "baseline" ? problem.baselines : problem.finalists;
    rows.push_back(row_of(record, result.standings[i]));
  }
  problem.gate = result.gate;
  problem.search = search_of(result, plan);
  return problem;
}

bool has_finals(const ProblemResult& result) { return !result.finals.empty(); }

/// Of the gates' ratios; empty when no problem has one.
std::optional<double> geomean_ratio(const SweepResult& result) {
  double log_sum = 0;
  int ratios = 0;
  for (const ProblemResult& problem : result.problems) {
    if (!problem.gate) continue;
    log_sum += std::log(problem.gate->ratio.value);
    ++ratios;
  }
  return ratios == 0 ? std::nullopt : std::optional(std::exp(log_sum / ratios));
}

BestFile file_of(const SweepResult& result) {
  const Environment& environment = result.environment;
  BestFile file;
  file.fatune = environment.fatune;
  file.command = result.plan.command;
  file.recorded = environment.recorded;
  if (result.plan.skip_correctness) file.correctness = "skipped";
  file.device = {environment.device_name, std::string(name(environment.limits.arch)),
                 environment.driver, environment.nvrtc, environment.limits.sm_count};
  file.single.reset();
  if (result.plan.problems.size() == 1) {
    for (const ProblemResult& problem : result.problems)
      file.single = problem_of(problem, result.plan);
    return file;
  }
  file.suite.emplace();
  for (const ProblemResult& problem : result.problems) {
    if (has_finals(problem)) file.suite->problems.push_back(problem_of(problem, result.plan));
  }
  file.suite->geomean_ratio = geomean_ratio(result);
  file.suite->seconds = result.seconds;
  file.suite->choice = result.choice;
  return file;
}

}  // namespace

void fields(BestRow& x, FieldList& f) {
  f.record("row", "A contestant of the final phase");
  contestant_fields(x, f);
  f("role", x.role).one_of("finalist, default, baseline");
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
  f("objective", x.objective).one_of("hot, cold, score");
  f("evaluations", x.evaluations);
  f("outcomes", x.outcomes);
  f("seconds", x.seconds).finite();
  f("valid_points", x.valid_points);
  f("raw_points", x.raw_points);
  f("gpu_waited_s", x.gpu_waited_s).finite();
  f("warm_starts", x.warm_starts).omitted();
}

void fields(BestProblem& x, FieldList& f) {
  f("name", x.name).omitted();
  f("problem", x.problem);
  f.as<&best_fields>("best", x.best).or_null();
  f("score_note", x.score_note).omitted();
  f("finalists", x.finalists);
  f("baselines", x.baselines);
  f("gate", x.gate).or_null();
  f("search", x.search);
}

static void fields(BestSuite& x, FieldList& f) {
  f("problems", x.problems);
  f("geomean_ratio", x.geomean_ratio).or_null().finite().positive();
  f("seconds", x.seconds).finite();
  f("choice", x.choice).about("The configs that all problems share");
}

void fields(BestDevice& x, FieldList& f) {
  f.record("device");
  f("name", x.name);
  f("arch", x.arch).looks_like("sm_[0-9]+[af]?");
  f("driver", x.driver);
  f("nvrtc", x.nvrtc);
  f("sm_count", x.sm_count).at_least(1).later();
}

void fields(BestFile& x, FieldList& f) {
  head_fields(x, f);
  if (f.chooses("problems", x.suite)) {
    f.record("suite", "The best config of each problem of a suite");
    fields(*x.suite, f);
  } else if (x.single) {
    f.record("single", "The best config of a problem");
    fields(*x.single, f);
  }
}

Result<BestFile> best_file_from_json(Json object, const std::string& where) {
  if (!object.is_object()) return file_error(where + ": is not a JSON object");
  const bool bare =
      !object.contains("problems") && object.contains("kernel") && object.contains("config");
  // What a person writes by hand needs no schema.
  if (!object.contains("schema")) object["schema"] = fmt::format("{}/{}", kFamily, kVersion);
  if (!bare) return from_json<BestFile>(object, where);
  FATUNE_TRY(BareConfig config, from_json<BareConfig>(object, where));
  return std::move(config.file);
}

std::vector<std::pair<std::string, BestProblem>> problems_of(const BestFile& file,
                                                             const std::string& where) {
  if (!file.suite) return {{where, *file.single}};
  std::vector<std::pair<std::string, BestProblem>> problems;
  for (const BestProblem& problem : file.suite->problems) {
    problems.emplace_back(field_place(where, fmt::format("problems[{}]", problems.size())),
                          problem);
  }
  return problems;
}

Json best_json(const SweepResult& result) { return to_json(file_of(result)); }

Status save_best(const SweepResult& result) {
  for (const ProblemResult& problem : result.problems) {
    if (has_finals(problem))
      return replace_file(result.folder / "best.json", dump_pretty(best_json(result)));
  }
  return {};
}

}  // namespace fatune
