// suite_result.cpp - picks best and best baseline of each problem and bootstraps their ratio.
#include "tune/sweep/suite_result.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "model/problem/work.hpp"
#include "model/results/statistics.hpp"
#include "tune/sweep/standing.hpp"

namespace fatune {
namespace {

constexpr const char* kObjective = "hot";

bool is_baseline(const FinalRecord& record) { return record.role == "baseline"; }
bool is_timed(const FinalRecord& record) {
  return record.outcome == Outcome::kMeasured && record.hot.has_value();
}

const FinalRecord* first_candidate(const std::vector<FinalRecord>& rows) {
  const auto found = std::find_if(rows.begin(), rows.end(), [](const FinalRecord& row) {
    return !is_baseline(row) && is_timed(row);
  });
  return found == rows.end() ? nullptr : &*found;
}

const FinalRecord* fastest_baseline(const std::vector<FinalRecord>& rows) {
  const FinalRecord* fastest = nullptr;
  for (const FinalRecord& row : rows) {
    if (!is_baseline(row) || !is_timed(row)) continue;
    if (fastest == nullptr || row.hot->median_us < fastest->hot->median_us) fastest = &row;
  }
  return fastest;
}

/// As suites have it: the mask is a flag.
Json suite_problem(const Problem& problem) {
  Json json = to_json(problem);
  if (problem.custom) return json;
  json.erase("mask");
  json["causal"] = problem.mask == Mask::kCausal;
  return json;
}

Json times(const FinalRecord& record) {
  Json json = Json::object();
  if (record.hot) json["hot_us"] = record.hot->median_us;
  if (record.cold) json["cold_us"] = record.cold->median_us;
  return json;
}

Json best_json(const FinalRecord& record) {
  Json json = {{"impl", record.impl}, {"kernel", record.kernel}, {"config", record.config}};
  json["id"] = record.id;
  json.update(times(record));
  const Seconds time = to_seconds(Micros(record.hot->median_us));
  if (counts_flops(record.problem)) {
    json["tflops"] = (flops(record.problem) / time).value;
  } else {
    json["gbytes_per_s"] = gigabytes_per_second(record.problem, time);
  }
  return json;
}

Json baseline_json(const FinalRecord& record) {
  Json json = times(record);
  if (!record.detail.empty()) json["detail"] = record.detail;
  if (record.external) json["external"] = true;
  if (record.outcome == Outcome::kMeasured) return json;
  json["outcome"] = name(record.outcome);
  json["reason"] = record.reason;
  return json;
}

/// Ratio, interval, comparison and verdict; null where a side or its rounds are missing.
void add_ratio(Json& row, const FinalRecord* best, const FinalRecord* baseline,
               std::uint64_t seed) {
  for (const char* field : {"ratio", "ci95", "comparison", "verdict"}) row[field] = nullptr;
  if (best == nullptr || baseline == nullptr) return;
  row["ratio"] = best->hot->median_us / baseline->hot->median_us;
  row["verdict"] = verdict_word(row.at("ratio").get<double>());
  const Pairing pairing = pairing_in_phase(*best, *baseline, kObjective);
  const auto ratio = ratio_of(*best, *baseline, kObjective, pairing, seed);
  if (!ratio) return;
  row["ci95"] = {ratio->low, ratio->high};
  row["comparison"] = name(compare_interval({ratio->low, ratio->high}, kSameSpeed));
}

Json row_json(const BenchProblem& problem, std::uint64_t seed) {
  const FinalRecord* best = first_candidate(problem.rows);
  const FinalRecord* baseline = fastest_baseline(problem.rows);
  Json row = {{"name", problem.problem.name}, {"problem", suite_problem(problem.problem.problem)}};
  row["best"] = best == nullptr ? Json() : best_json(*best);
  row["baselines"] = Json::object();
  for (const FinalRecord& each : problem.rows) {
    if (is_baseline(each)) row["baselines"][each.impl] = baseline_json(each);
  }
  row["best_baseline"] = baseline == nullptr ? Json() : Json(baseline->impl);
  add_ratio(row, best, baseline, seed);
  if (!problem.reason.empty()) row["reason"] = problem.reason;
  return row;
}

Json geomean_ratio(const Json& rows) {
  double log_sum = 0;
  int ratios = 0;
  for (const Json& row : rows) {
    if (row.at("ratio").is_null()) continue;
    log_sum += std::log(row.at("ratio").get<double>());
    ++ratios;
  }
  return ratios == 0 ? Json() : Json(std::exp(log_sum / ratios));
}

}  // namespace

Json suite_json(const BenchResult& result) {
  const Environment& environment = result.environment;
  Json json = {{"schema", "fatune.suite/1"}, {"fatune", environment.fatune}};
  if (!result.suite.empty()) json["suite"] = result.suite;
  json["command"] = result.command;
  json["date"] = result.date;
  json["recorded"] = environment.recorded;
  if (result.skip_correctness) json["correctness"] = "skipped";
  json["device"] = {{"name", environment.device_name},
                    {"arch", name(environment.limits.arch)},
                    {"driver", environment.driver},
                    {"nvrtc", environment.nvrtc}};
  json["rows"] = Json::array();
  for (const BenchProblem& problem : result.problems)
    json["rows"].push_back(row_json(problem, result.seed));
  json["geomean_ratio"] = geomean_ratio(json["rows"]);
  return json;
}

BenchResult suite_of(const SweepResult& sweep, const std::string& date) {
  BenchResult result;
  result.environment = sweep.environment;
  result.command = sweep.plan.command;
  result.date = date;
  result.seed = sweep.plan.seed;
  result.skip_correctness = sweep.plan.skip_correctness;
  for (const ProblemResult& problem : sweep.problems) {
    if (!problem.finals.empty()) result.problems.push_back({problem.problem, problem.finals, ""});
  }
  return result;
}

Status save_suite(const SweepResult& sweep, const std::string& date) {
  const BenchResult result = suite_of(sweep, date);
  if (sweep.plan.problems.size() < 2 || result.problems.empty()) return {};
  return replace_file(sweep.folder / "suite.json", dump_pretty(suite_json(result)));
}

}  // namespace fatune
