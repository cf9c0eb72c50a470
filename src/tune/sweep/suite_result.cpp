// suite_result.cpp - picks best and best baseline of each problem and bootstraps their ratio.
#include "tune/sweep/suite_result.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
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

/// Ratio, interval, comparison and verdict, where both sides have them.
void add_ratio(const FinalRecord& baseline, std::uint64_t seed, SuiteProblem& row) {
  row.ratio = row.best->hot->median_us / baseline.hot->median_us;
  row.verdict = verdict_word(*row.ratio);
  const Pairing pairing = pairing_in_phase(*row.best, baseline, kObjective);
  const auto ratio = ratio_of(*row.best, baseline, kObjective, pairing, seed);
  if (!ratio) return;
  row.ci95 = {ratio->low, ratio->high};
  row.comparison = name(compare_interval({ratio->low, ratio->high}, kSameSpeed));
}

SuiteProblem row_of(const BenchProblem& problem, std::uint64_t seed) {
  SuiteProblem row{.problem = problem.problem, .reason = problem.reason};
  if (const FinalRecord* best = first_candidate(problem.rows)) row.best = *best;
  std::copy_if(problem.rows.begin(), problem.rows.end(), std::back_inserter(row.baselines),
               [](const FinalRecord& each) { return is_baseline(each); });
  const FinalRecord* baseline = fastest_baseline(problem.rows);
  if (baseline == nullptr) return row;
  row.best_baseline = baseline->impl;
  if (row.best) add_ratio(*baseline, seed, row);
  return row;
}

std::optional<double> geomean_ratio(const std::vector<SuiteProblem>& rows) {
  double log_sum = 0;
  int ratios = 0;
  for (const SuiteProblem& row : rows) {
    if (!row.ratio) continue;
    log_sum += std::log(*row.ratio);
    ++ratios;
  }
  return ratios == 0 ? std::nullopt : std::optional(std::exp(log_sum / ratios));
}

}  // namespace

SuiteTable suite_table(const BenchResult& result) {
  const Environment& environment = result.environment;
  SuiteTable table{.head = {environment.fatune, result.command, environment.recorded},
                   .suite = result.suite,
                   .date = result.date,
                   .skip_correctness = result.skip_correctness,
                   .environment = environment};
  for (const BenchProblem& problem : result.problems)
    table.problems.push_back(row_of(problem, result.seed));
  table.geomean_ratio = geomean_ratio(table.problems);
  return table;
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
  return replace_file(sweep.folder / "suite.json", dump_pretty(to_json(suite_table(result))));
}

}  // namespace fatune
