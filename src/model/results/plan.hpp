// plan.hpp - what a run set out to do; the first half of a journal's header line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "model/problem/problem.hpp"
#include "model/problem/suite.hpp"
#include "model/results/record.hpp"

namespace fatune {

struct RunPlan {
  std::vector<NamedProblem> problems;
  std::vector<std::string> kernels;
  std::vector<std::string> kernel_hashes;  ///< text_hash of each, filled by run_sweep
  std::string strategy = "evo";
  bool one_lever = false;         ///< each move changes exactly one parameter
  std::string objective = "hot";  ///< hot, cold
  std::uint64_t seed = 42;
  std::uint64_t budget_evaluations = 150;  ///< a problem; 0: no limit
  std::optional<double> budget_seconds;    ///< a problem; either may end it
  std::uint64_t configs = 0;               ///< that all problems share; 0: each problem has its own
  bool skip_correctness = false;
  bool record_cold = false;  ///< cold timing of every candidate, not only of finalists
  /// Names of implementations measured beside the winners; empty: the reference alone.
  std::vector<std::string> baselines;
  /// Where the searches may start, nearest first for some problem of the plan; a resumed run keeps
  /// those of its journal.
  std::vector<KnownConfig> warm_starts;
  std::string command;  ///< as typed, to reproduce
};
void fields(RunPlan& x, FieldList& f);
/// Empty when `resumed` continues `recorded`; else the field that differs, with both values.
std::string difference(const RunPlan& recorded, const RunPlan& resumed);

}  // namespace fatune
