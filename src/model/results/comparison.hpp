// comparison.hpp: Defines side-by-side results: rows of benches, gates and suites.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "model/problem/suite.hpp"
#include "model/results/document.hpp"
#include "model/results/sol_score.hpp"
#include "model/results/sweep_result.hpp"

namespace fatune {

/// A config's time saved in a best.json beside the time measured now.
struct Confirmation {
  std::string file;
  Timing then, now;  ///< median and interval
  /// "confirmed": the intervals meet. "close": they do not meet, but differ by no more than runs
  /// do. "faster", "slower". "recorded": no measurement now, so no confirmation.
  std::string verdict;
  std::vector<std::string> differences;  ///< possible causes: "driver was 580.1 and is 590.2"
};

struct BenchProblem {
  NamedProblem problem;
  std::vector<FinalRecord> rows;  ///< the candidate first, if any; failed rows are kept
  std::string reason;             ///< why there is no measurement; then there are no rows
  std::optional<Confirmation> confirmation{};  ///< for a config with a saved time
};

struct BenchResult {
  Environment environment;
  std::string command;  ///< in shell syntax
  std::string date;     ///< date of writing, "2026-01-31"
  std::string suite;    ///< empty: problems given as shapes
  int rounds = 0;
  std::uint64_t seed = 42;
  bool skip_correctness = false;
  Objective objective = Objective::kInLayer;  ///< of the sweep whose final phases the rows are
  std::vector<BenchProblem> problems;
};
/// Lists fatune.bench/1: every row with its rounds and their quantiles.
void fields(BenchResult& x, FieldList& f);

/// A kernel's time over another one's, and what the ratio means.
struct Compared {
  std::optional<Ratio> ratio;  ///< empty: see reason
  bool paired = false;         ///< the rounds of both are aligned
  std::string comparison;      ///< "faster", "tie", "slower": the interval compared with 1
  std::string verdict;         ///< "Excellent", ... of the ratio
  std::string reason;          ///< why there is no ratio
};

/// The candidate against one baseline on one problem.
struct GateRow : Compared {
  FinalRecord baseline;
  std::string source;   ///< file of a saved result; empty: measured in the same rounds
  bool passed = false;  ///< the whole interval is below the threshold
};

struct GateProblem {
  NamedProblem problem;
  FinalRecord candidate;
  Time time = Time::kHot;  ///< compared: the objective's, or the next that all have
  std::vector<GateRow> rows;
  std::string reason;   ///< why there is no measurement; then there are no rows
  bool passed = false;  ///< at least one row, and every row passed
};

/// A baseline's summary over the problems of a suite.
struct GateMean {
  std::string baseline;
  double ratio = 0;          ///< geometric mean
  std::size_t problems = 0;  ///< problems with a ratio
};
void fields(GateMean& x, FieldList& f);

struct GateResult {
  Environment environment;
  std::string command;
  Time objective = Time::kInLayer;
  double threshold = 0.95;
  int rounds = 0;
  std::uint64_t seed = 42;
  std::vector<GateProblem> problems;
  std::vector<GateMean> means;  ///< by baseline, in order of appearance
  bool passed = false;          ///< every problem passed
};
/// Lists fatune.gate/1.
void fields(GateResult& x, FieldList& f);

/// One problem of a suite: its best candidate against the fastest correct baseline.
struct SuiteProblem {
  NamedProblem problem;
  std::string gpu{};  ///< UUID; empty: the table's device, or unknown
  std::optional<FinalRecord> best{};
  std::vector<FinalRecord> baselines{};
  std::string best_baseline{};    ///< empty: no baseline is correct
  std::optional<Time> time{};     ///< of the ratio
  std::optional<double> ratio{};  ///< ratio of the medians
  std::optional<std::array<double, 2>> ci95{};
  std::optional<SolScore> sol{};
  std::string comparison{}, verdict{};
  std::string reason{};  ///< why there is no measurement
};
void fields(SuiteProblem& x, FieldList& f);

/// Content of fatune.suite/1: a row for each problem.
struct SuiteTable {
  DocumentHead head;
  std::string suite, date;
  bool skip_correctness = false;
  Environment environment;
  std::vector<SuiteProblem> problems{};
  std::optional<double> geomean_ratio{};
};
void fields(SuiteTable& x, FieldList& f);

}  // namespace fatune
