// run_state.hpp - what the parts of a running sweep share.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/results/journal.hpp"
#include "tune/evaluate/evaluator.hpp"
#include "tune/sweep/progress_tracker.hpp"
#include "tune/sweep/resume_index.hpp"
#include "tune/sweep/run_clock.hpp"

namespace fatune {

struct RunState {
  Evaluator& evaluator;
  const std::vector<KernelRef>& kernels;
  JournalWriter journal;
  ResumeIndex known;
  RunClock clock;
  ProgressTracker progress;
  EvaluationPlan plan;
  std::string objective;
  std::set<std::string> started;  ///< keys of those that reached the device in this attempt
  std::map<std::string, CandidateRecord> early;  ///< by key: journalled, their turn is to come
  std::optional<Problem> begun;                  ///< the problem that the evaluator is ready for
  bool interrupted = false;

  /// Makes the device ready for a problem: late, so that a run whose results are all journalled
  /// needs none.
  Status begin(const Problem& problem);
};

}  // namespace fatune
