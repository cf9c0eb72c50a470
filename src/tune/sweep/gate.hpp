// gate.hpp - a candidate and its baselines to a decision: is it faster, for sure, than each?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/results/comparison.hpp"
#include "tune/evaluate/evaluator.hpp"

namespace fatune {

struct GateRules {
  double threshold = kGateThreshold;
  std::string objective = "hot";
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

}  // namespace fatune
