// comparison.hpp: Measures implementations side by side for bench, gate and suite table.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/results/comparison.hpp"
#include "tune/evaluate/evaluator.hpp"
#include "tune/sweep/best.hpp"

namespace fatune {

struct BenchQuestion {
  NamedProblem problem;
  std::vector<Implementation> contestants;  ///< the candidate first, if there is one
};

/// Fills `result` problem by problem and calls `after_each`, so that a later failure loses no row.
/// A problem that does not fit the device gets a row with the reason, or is an error if it is the
/// only one.
Status run_bench(const std::vector<BenchQuestion>& questions, const FinalPlan& plan,
                 Evaluator& evaluator, BenchResult& result,
                 const std::function<Status()>& after_each);

/// Relative difference between two runs in fresh processes without other changes:
/// docs/measuring.md, "How far a number carries".
inline constexpr double kRunToRun = 0.01;

/// Compares a saved best with its repetition; empty if one has no time. `winner` is a problem of
/// `saved`. `row` is its best config, measured now in the environment `here` from the text of
/// `kernel`.
std::optional<Confirmation> confirm(const BestFile& saved, const BestProblem& winner,
                                    const FinalRecord& row, const Environment& here,
                                    const Kernel& kernel);

struct GateRules {
  double threshold = kGateThreshold;
  Time time = Time::kInLayer;  ///< stands for the first of ranking_times() that all have
  std::uint64_t seed = 42;     ///< seed of the bootstrap
};

/// A record to beat, and the file with the record; empty: measured in the candidate's rounds.
struct GateBaseline {
  FinalRecord record;
  std::string source;
};

/// Passes if the whole 95 % interval of candidate/baseline is below the threshold for every
/// baseline. A side that is unavailable, wrong or has too few rounds gives a failing row without
/// ratio. A sample that is not a time is an error that names the row.
Result<GateProblem> decide_gate(const NamedProblem& problem, const FinalRecord& candidate,
                                const std::vector<GateBaseline>& baselines, const GateRules& rules);

/// A problem with the contestants of its rounds, and saved records.
struct GateQuestion {
  NamedProblem problem;
  Implementation candidate;
  std::vector<Implementation> baselines;
  std::vector<GateBaseline> saved;
};
/// Measures and decides each problem, and then the whole. A problem that does not fit the device
/// fails, or is an error if it is the only one.
Result<GateResult> run_gate(const std::vector<GateQuestion>& questions, const GateRules& rules,
                            const FinalPlan& plan, Evaluator& evaluator);

/// False if there was no baseline to compare with. A ratio is an answer, and so is a candidate that
/// is wrong or does not run.
bool has_answer(const GateResult& result);

/// Returns one row per problem: its first correct candidate against the fastest correct baseline. A
/// missing side is absent with the reason. The geometric mean covers the rows with a ratio.
SuiteTable suite_table(const BenchResult& result);
/// Writes suite.json of a sweep into the run's folder, with the first finalist as the candidate.
/// Only for plans with several problems, or a problem of a suite. `date` is today.
Status save_suite(const SweepResult& sweep, const std::string& date);

}  // namespace fatune
