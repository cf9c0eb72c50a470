// comparison.cpp: Runs final phases and compares rows by confidence interval.
#include "tune/sweep/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/text.hpp"
#include "model/results/statistics.hpp"
#include "tune/sweep/finals.hpp"

namespace fatune {
namespace {

/// Begins a problem. If there are several, a problem that does not fit the device returns a reason
/// instead of an error.
Result<std::string> begin_or_reason(const Problem& problem, bool several, Evaluator& evaluator) {
  Status begun = evaluator.begin_problem(problem, {});
  if (begun) return std::string();
  if (several && is_of_problem(begun.error())) return begun.error().message;
  return std::move(begun).error();
}

/// Returns the interval of the median, or the median alone.
Interval interval_of(const Timing& timing) {
  return {timing.ci95_low_us.value_or(timing.median_us),
          timing.ci95_high_us.value_or(timing.median_us)};
}

std::string confirmed(const Timing& then, const Timing& now) {
  const Interval a = interval_of(then);
  const Interval b = interval_of(now);
  if (a.low <= b.high && b.low <= a.high) return "confirmed";
  const double ratio = now.median_us / then.median_us;
  if (std::abs(ratio - 1) <= kRunToRun) return "close";
  return ratio < 1 ? "faster" : "slower";
}

std::string clocks(const Conditions& seen) {
  if (seen.sm_clock_mhz_min == seen.sm_clock_mhz_max)
    return fmt::format("{} MHz", seen.sm_clock_mhz_max);
  return fmt::format("{} to {} MHz", seen.sm_clock_mhz_min, seen.sm_clock_mhz_max);
}

std::string throttling(const Conditions& seen) {
  const auto reasons = throttle_names(seen.throttle_reasons);
  return reasons.empty() ? "none" : join(reasons, ", ");
}

/// Rejects NaN among the times, which means broken input.
Status check_times(const FinalRecord& record, Time time) {
  const auto& rounds = rounds_of(record, time);
  if (record.outcome != Outcome::kMeasured || rounds.size() < kLeastSamples) return {};
  return check_samples(rounds, fmt::format("{} ({})", record.impl, name(time)));
}

/// Resolves the time in a layer to the first ranking time that all contestants have. Recordings and
/// machines without cuBLASLt have no in-layer times.
Time gate_time(const FinalRecord& candidate, const std::vector<GateBaseline>& baselines,
               Time wanted) {
  if (wanted != Time::kInLayer) return wanted;
  for (const Time time : {Time::kInLayer, Time::kPlain}) {
    const auto has = [&](const FinalRecord& record) {
      return record.outcome != Outcome::kMeasured ||
             rounds_of(record, time).size() >= kLeastSamples;
    };
    if (has(candidate) && std::ranges::all_of(baselines, has, &GateBaseline::record)) return time;
  }
  return Time::kHot;
}

GateRow decide_row(const FinalRecord& candidate, const GateBaseline& baseline, Time time,
                   const GateRules& rules) {
  GateRow row;
  row.baseline = baseline.record;
  row.source = baseline.source;
  const Pairing pairing =
      baseline.source.empty() ? pairing_in_phase(candidate, baseline.record, time) : Pairing::kNone;
  const auto ratio = ratio_of(candidate, baseline.record, time, pairing, rules.seed);
  if (!ratio) {
    row.reason = ratio.error().message;
    return row;
  }
  row.paired = pairing == Pairing::kRounds;
  row.ratio = *ratio;
  row.comparison = name(compare_interval({ratio->low, ratio->high}, kSameSpeed));
  row.verdict = verdict_word(ratio->value);
  row.passed = ratio->high < rules.threshold;
  return row;
}

/// Notes the actual number of rounds, which differs for recordings and for long rounds.
void note_rounds(const FinalRecord& record, int& rounds) {
  if (!record.hot_rounds_us.empty()) rounds = static_cast<int>(record.hot_rounds_us.size());
}

Result<GateProblem> measure_and_decide(const GateQuestion& question, const GateRules& rules,
                                       const FinalPlan& plan, Evaluator& evaluator) {
  std::vector<Implementation> contestants = {question.candidate};
  contestants.insert(contestants.end(), question.baselines.begin(), question.baselines.end());
  FATUNE_TRY(auto records, evaluator.finals(contestants, plan));
  if (records.size() != contestants.size())
    return device_error("the final phase's records do not match its contestants");
  std::vector<GateBaseline> baselines;
  for (std::size_t i = 1; i < records.size(); ++i) baselines.push_back({std::move(records[i]), ""});
  baselines.insert(baselines.end(), question.saved.begin(), question.saved.end());
  return decide_gate(question.problem, records.front(), baselines, rules);
}

/// Returns geometric means over problems for each baseline that has a ratio.
std::vector<GateMean> mean_ratios(const std::vector<GateProblem>& problems) {
  std::vector<std::pair<std::string, std::vector<double>>> ratios;
  for (const GateProblem& problem : problems) {
    for (const GateRow& row : problem.rows) {
      if (!row.ratio) continue;
      auto of = std::ranges::find(ratios, row.baseline.impl, [](auto& each) { return each.first; });
      if (of == ratios.end()) of = ratios.insert(ratios.end(), {row.baseline.impl, {}});
      of->second.push_back(row.ratio->value);
    }
  }
  std::vector<GateMean> means;
  for (const auto& [baseline, of] : ratios) means.push_back({baseline, *geomean(of), of.size()});
  return means;
}

/// Adds ratio, interval, comparison and verdict.
void add_ratio(const FinalRecord& baseline, Time time, std::uint64_t seed, SuiteProblem& row) {
  row.ratio = timing_of(*row.best, time)->median_us / timing_of(baseline, time)->median_us;
  row.verdict = verdict_word(*row.ratio);
  const Pairing pairing = pairing_in_phase(*row.best, baseline, time);
  const auto ratio = ratio_of(*row.best, baseline, time, pairing, seed);
  if (!ratio) return;
  row.ci95 = {ratio->low, ratio->high};
  row.comparison = name(compare_interval({ratio->low, ratio->high}, kSameSpeed));
}

SuiteProblem suite_row(const BenchProblem& problem, const BenchResult& result) {
  SuiteProblem row{.problem = problem.problem,
                   .gpu = gpu_of(problem.rows, result.environment),
                   .reason = problem.reason};
  const Time time = final_time(problem.rows, result.objective);
  row.time = time;
  const auto time_of = [&](const FinalRecord& each) { return timing_of(each, time); };
  const FinalRecord* fastest = nullptr;
  for (const FinalRecord& each : problem.rows) {
    if (each.is_baseline()) row.baselines.push_back(each);
    if (!each.is_timed() || !time_of(each)) continue;
    if (!each.is_baseline()) {
      if (!row.best) row.best = each;
    } else if (fastest == nullptr || time_of(each)->median_us < time_of(*fastest)->median_us) {
      fastest = &each;
    }
  }
  if (fastest == nullptr) return row;
  row.best_baseline = fastest->impl;
  if (!row.best) return row;
  add_ratio(*fastest, time, result.seed, row);
  row.sol = sol_score(*row.best, *fastest, time, result.environment);
  return row;
}

}  // namespace

Status run_bench(const std::vector<BenchQuestion>& questions, const FinalPlan& plan,
                 Evaluator& evaluator, BenchResult& result,
                 const std::function<Status()>& after_each) {
  result.environment = evaluator.environment();
  result.rounds = plan.rounds;
  result.seed = plan.seed;
  for (const BenchQuestion& question : questions) {
    BenchProblem measured;
    measured.problem = question.problem;
    FATUNE_TRY(measured.reason,
               begin_or_reason(question.problem.problem, questions.size() > 1, evaluator));
    if (measured.reason.empty()) {
      FATUNE_TRY(measured.rows, evaluator.finals(question.contestants, plan));
      if (!measured.rows.empty()) note_rounds(measured.rows.front(), result.rounds);
    }
    result.problems.push_back(std::move(measured));
    FATUNE_TRY_STATUS(after_each());
  }
  return {};
}

std::optional<Confirmation> confirm(const BestFile& saved, const BestProblem& winner,
                                    const FinalRecord& row, const Environment& here,
                                    const Kernel& kernel) {
  const BestRow& best = *winner.best;
  if (!best.hot || !row.is_timed()) return std::nullopt;
  std::vector<std::string> differences;
  const auto compare = [&](std::string_view what, const std::string& then, const std::string& now) {
    if (then.empty() || now.empty() || then == now) return;
    differences.push_back(fmt::format("{} was {} and is {}", what, then, now));
  };
  if (saved.device) {
    compare("GPU", saved.device->device_name, here.device_name);
    compare("architecture", name(saved.device->limits.arch), name(here.limits.arch));
    compare("driver", saved.device->driver, here.driver);
    compare("NVRTC", saved.device->nvrtc, here.nvrtc);
  }
  compare("fatune", saved.head.fatune, here.fatune);
  if (!best.text_hash.empty() && best.text_hash != kernel.text_hash)
    differences.push_back("the text of " + kernel.manifest.name + " has changed");
  if (best.conditions && row.conditions) {
    compare("SM clock", clocks(*best.conditions), clocks(*row.conditions));
    compare("memory clock", fmt::format("{} MHz", best.conditions->memory_clock_mhz),
            fmt::format("{} MHz", row.conditions->memory_clock_mhz));
    compare("throttling", throttling(*best.conditions), throttling(*row.conditions));
  }
  if (saved.head.recorded != here.recorded)
    differences.push_back(here.recorded ? "this is a recording"
                                        : "the saved time is of a recording");
  const std::string verdict = here.recorded ? "recorded" : confirmed(*best.hot, *row.hot);
  return Confirmation{saved.where, *best.hot, *row.hot, verdict, std::move(differences)};
}

Result<GateProblem> decide_gate(const NamedProblem& problem, const FinalRecord& candidate,
                                const std::vector<GateBaseline>& baselines,
                                const GateRules& rules) {
  GateProblem decision;
  decision.problem = problem;
  decision.candidate = candidate;
  decision.time = gate_time(candidate, baselines, rules.time);
  FATUNE_TRY_STATUS(check_times(candidate, decision.time));
  for (const GateBaseline& baseline : baselines) {
    if (auto times = check_times(baseline.record, decision.time); !times) {
      if (baseline.source.empty()) return std::move(times).error();
      return file_error(baseline.source + ": " + times.error().message);
    }
    decision.rows.push_back(decide_row(candidate, baseline, decision.time, rules));
  }
  decision.passed = !baselines.empty() && std::ranges::all_of(decision.rows, &GateRow::passed);
  return decision;
}

Result<GateResult> run_gate(const std::vector<GateQuestion>& questions, const GateRules& rules,
                            const FinalPlan& plan, Evaluator& evaluator) {
  GateResult result;
  result.environment = evaluator.environment();
  result.objective = rules.time;
  result.threshold = rules.threshold;
  result.rounds = plan.rounds;
  result.seed = rules.seed;
  for (const GateQuestion& question : questions) {
    GateProblem decision;
    decision.problem = question.problem;
    FATUNE_TRY(decision.reason,
               begin_or_reason(question.problem.problem, questions.size() > 1, evaluator));
    if (decision.reason.empty()) {
      FATUNE_TRY(decision, measure_and_decide(question, rules, plan, evaluator));
      note_rounds(decision.candidate, result.rounds);
    }
    result.problems.push_back(std::move(decision));
  }
  result.passed = !questions.empty() && std::ranges::all_of(result.problems, &GateProblem::passed);
  result.means = mean_ratios(result.problems);
  return result;
}

bool has_answer(const GateResult& result) {
  return std::ranges::any_of(result.problems, [](const GateProblem& each) {
    const Outcome outcome = each.candidate.outcome;
    if (outcome != Outcome::kMeasured && outcome != Outcome::kUnavailable) return true;
    return std::ranges::any_of(each.rows, [](const GateRow& row) { return row.ratio.has_value(); });
  });
}

SuiteTable suite_table(const BenchResult& result) {
  const Environment& environment = result.environment;
  SuiteTable table{.head = {environment.fatune, result.command, environment.recorded},
                   .suite = result.suite,
                   .date = result.date,
                   .skip_correctness = result.skip_correctness,
                   .environment = environment};
  std::vector<double> ratios;
  for (const BenchProblem& problem : result.problems) {
    table.problems.push_back(suite_row(problem, result));
    if (const auto& ratio = table.problems.back().ratio) ratios.push_back(*ratio);
  }
  table.geomean_ratio = geomean(ratios);
  return table;
}

Status save_suite(const SweepResult& sweep, const std::string& date) {
  BenchResult result;
  result.environment = sweep.environment;
  result.command = sweep.plan.command;
  result.date = date;
  result.seed = sweep.plan.seed;
  result.objective = sweep.plan.objective;
  result.skip_correctness = sweep.plan.skip_correctness;
  for (const ProblemResult& problem : sweep.problems) {
    if (!problem.finals.empty() || !problem.why_not_tried().empty())
      result.problems.push_back({problem.problem, problem.finals, problem.why_not_tried()});
  }
  const auto& problems = sweep.plan.problems;
  const bool is_suite = problems.size() > 1 || !problems.front().name.empty();
  if (!is_suite || result.problems.empty()) return {};
  return write_below(sweep.folder, "suite.json", dump_pretty(to_json(suite_table(result))));
}

}  // namespace fatune
