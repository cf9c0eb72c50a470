// comparison.hpp - what was measured side by side: rows of a bench, decisions of a gate, a suite's
// table.
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

/// What a best.json says of the config, beside what was measured of it now.
struct Confirmation {
  std::string file;
  Timing then, now;  ///< median and interval
  /// "confirmed": the intervals meet; "close": they do not, within what runs differ by; "faster",
  /// "slower"; "recorded": nothing was measured now, so nothing is confirmed.
  std::string verdict;
  std::vector<std::string> differences;  ///< "driver was 580.1 and is 590.2": what may explain it
};

struct BenchProblem {
  NamedProblem problem;
  std::vector<FinalRecord> rows;  ///< the candidate first, if there is one; failed rows stay in
  std::string reason;             ///< why nothing could be measured; then there are no rows
  std::optional<Confirmation> confirmation{};  ///< of a config whose time was saved
};

struct BenchResult {
  Environment environment;
  std::string command;  ///< as a shell would repeat it
  std::string date;     ///< of the writing, "2026-01-31"
  std::string suite;    ///< empty: the problems were given as shapes
  int rounds = 0;
  std::uint64_t seed = 42;
  bool skip_correctness = false;
  std::string objective = "in_layer";  ///< of the sweep, if these are its final phases
  std::vector<BenchProblem> problems;
};
/// fatune.bench/1: every row with its rounds and their quantiles.
void fields(BenchResult& x, FieldList& f);

/// The candidate against one baseline on one problem.
struct GateRow {
  FinalRecord baseline;
  std::string source;          ///< file of a saved result; empty: measured in the same rounds
  std::optional<Ratio> ratio;  ///< the candidate's time over the baseline's; empty: see reason
  bool paired = false;         ///< the rounds of both are aligned
  std::string comparison;      ///< "faster", "tie", "slower": by the interval, against 1
  std::string verdict;         ///< "Excellent", ... of the ratio
  std::string reason;          ///< why there is no ratio
  bool passed = false;         ///< the whole interval is below the threshold
};

struct GateProblem {
  NamedProblem problem;
  FinalRecord candidate;
  std::string time = "hot";  ///< that is compared: the objective's, or the next that all have
  std::vector<GateRow> rows;
  std::string reason;   ///< why nothing could be measured; then there are no rows
  bool passed = false;  ///< every row passed, and there is one
};

/// Over the problems of a suite.
struct GateMean {
  std::string baseline;
  double ratio = 0;          ///< geometric mean
  std::size_t problems = 0;  ///< those with a ratio
};
void fields(GateMean& x, FieldList& f);

struct GateResult {
  Environment environment;
  std::string command;
  std::string objective = "in_layer";
  double threshold = 0.95;
  int rounds = 0;
  std::uint64_t seed = 42;
  std::vector<GateProblem> problems;
  std::vector<GateMean> means;  ///< by baseline, in order of appearance
  bool passed = false;          ///< every problem passed
};
/// fatune.gate/1
void fields(GateResult& x, FieldList& f);

/// A problem of a suite: its best against the fastest correct baseline.
struct SuiteProblem {
  NamedProblem problem;
  std::string gpu{};  ///< UUID; empty: the table's device, or not known
  std::optional<FinalRecord> best{};
  std::vector<FinalRecord> baselines{};
  std::string best_baseline{};    ///< empty: none is correct
  std::string time{};             ///< that the ratio is of: "in_layer", "plain", "hot", "cold"
  std::optional<double> ratio{};  ///< of the medians
  std::optional<std::array<double, 2>> ci95{};
  std::optional<SolScore> sol{};
  std::string comparison{}, verdict{};
  std::string reason{};  ///< why nothing could be measured
};
void fields(SuiteProblem& x, FieldList& f);

/// fatune.suite/1: a row a problem.
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
