// gate_result.hpp - what a gate compared and decided: baseline by baseline, problem by problem.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/results/sweep_result.hpp"

namespace fatune {

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

struct GateResult {
  Environment environment;
  std::string command;
  std::string objective = "hot";
  double threshold = 0.95;
  int rounds = 0;
  std::uint64_t seed = 42;
  std::vector<GateProblem> problems;
  std::vector<GateMean> means;  ///< by baseline, in order of appearance
  bool passed = false;          ///< every problem passed
};

}  // namespace fatune
