// comparison.hpp - implementations on problems to rows measured side by side: those of a bench, a
// gate's decision (is the candidate faster, for sure, than each?), a suite's table.
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
/// A problem that the device cannot take on keeps its place with the reason, and is an error when
/// it is the only one.
Status run_bench(const std::vector<BenchQuestion>& questions, const FinalPlan& plan,
                 Evaluator& evaluator, BenchResult& result,
                 const std::function<Status()>& after_each);

/// By how much two runs in fresh processes differ when nothing else does: docs/measuring.md, "How
/// far a number carries".
inline constexpr double kRunToRun = 0.01;

/// Empty when one of the two has no time. `winner` is a problem of `saved`; `row` its best config
/// measured now, on the device and with the compiler of `here`, from the text of `kernel`.
std::optional<Confirmation> confirm(const BestFile& saved, const BestProblem& winner,
                                    const FinalRecord& row, const Environment& here,
                                    const Kernel& kernel);

struct GateRules {
  double threshold = kGateThreshold;
  std::string objective = kInLayerObjective;
  std::uint64_t seed = 42;  ///< of the bootstrap
};

/// A record to beat, and the file it was saved in; empty: measured in the candidate's rounds.
struct Rival {
  FinalRecord record;
  std::string source;
};

/// Pass needs the whole 95 % interval of candidate/baseline below the threshold, for every
/// baseline. A side that is unavailable, wrong or has too few rounds gives a row without ratio,
/// which is not a pass. A sample that is no time is an error that names the row.
Result<GateProblem> decide_gate(const NamedProblem& problem, const FinalRecord& candidate,
                                const std::vector<Rival>& rivals, const GateRules& rules);

/// A problem with all that is to run in the same rounds, and what was saved earlier.
struct GateQuestion {
  NamedProblem problem;
  Implementation candidate;
  std::vector<Implementation> baselines;
  std::vector<Rival> saved;
};
/// Measures and decides problem by problem, then the whole. A problem that the device cannot take
/// on is a failed problem of a suite, and an error when it is the only one.
Result<GateResult> run_gate(const std::vector<GateQuestion>& questions, const GateRules& rules,
                            const FinalPlan& plan, Evaluator& evaluator);

/// A ratio, or a candidate that is wrong or does not run, is an answer. False when there was
/// nothing to compare with: then not even "no" is known.
bool has_answer(const GateResult& result);

/// One row a problem: its first correct candidate against the fastest correct baseline. A missing
/// side is absent, with the reason; the geometric mean is over the rows that have a ratio.
SuiteTable suite_table(const BenchResult& result);
/// The same of a sweep, whose first finalist is its best, into suite.json of the run's folder; only
/// when the plan has several problems or a suite's one. `date`: of today.
Status save_suite(const SweepResult& sweep, const std::string& date);

}  // namespace fatune
