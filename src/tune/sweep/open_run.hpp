// open_run.hpp: Opens the journal of a run, saves its results meanwhile, and ends it.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "tune/sweep/problem_sweep.hpp"
#include "tune/sweep/run_journal.hpp"
#include "tune/sweep/run_state.hpp"
#include "tune/sweep/sweep.hpp"

namespace fatune {

/// A run with an open journal and its results so far. `options`, `kernels` and the journal's index
/// must outlive every RunState of state().
struct OpenRun {
  const SweepOptions& options;
  const std::vector<KernelRef>& kernels;
  KernelRef baseline;  ///< the reference if it takes part; else null
  SweepResult result;
  std::unique_ptr<RunJournal> journal;
  double journalled_s = 0;                     ///< length of earlier attempts
  Environment here = {};                       ///< of this attempt
  std::optional<Environment> began_on = {};    ///< set for a resumed run
  std::set<std::string> absent = {};           ///< unavailable baselines already named in a warning
  std::map<Problem, std::size_t> places = {};  ///< of the plan's problems

  /// Without an evaluator, only journalled results are restored.
  RunState state(Evaluator* evaluator, RunClock clock) const;
  /// Inserts a problem's result in the order of the plan.
  void take(ProblemResult swept);
  bool has(const NamedProblem& problem) const;
  std::size_t place_of(const ProblemResult& each) const { return places.at(each.problem.problem); }
  /// Warns of baselines missing in a final phase, once each.
  void warn_of_absent(const ProblemResult& problem);
};

/// Creates the run's folder, or resumes its run. `environment` is common to all devices; `helpers`
/// are further devices that measure candidates.
Result<OpenRun> open_run(const SweepOptions& options, const std::vector<KernelRef>& kernels,
                         const KernelRef& reference, const Environment& environment,
                         const std::vector<Environment>& helpers);

/// Restores the result of a problem from the journal, and measures nothing.
Result<ProblemResult> recall_problem(const NamedProblem& problem, const SavedConfigs& known,
                                     const OpenRun& run);

/// Adds journalled results of problems that this attempt did not reach, so that they stay
/// published.
Status keep_the_rest(OpenRun& run, const SavedConfigs& known);

/// Appends how the run ended, unless nothing was added to a complete run.
Status close_run(OpenRun& run);

/// Writes best.json after a problem, but limits the time for writing. The file holds all problems,
/// so thousands of short problems would otherwise spend most time on writing.
class Saver {
 public:
  explicit Saver(OpenRun& run);

  /// Saves once the results include all that the run had published, because the process may be
  /// killed.
  Status save_in_time();
  Status save_the_last();
  Status save();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kLeastShare = 20;  ///< minimum ratio of other work to writing; chosen

  bool is_whole() const;
  void keep_verdict(ProblemResult& problem) const;

  OpenRun& run_;
  std::map<std::string, std::vector<ToolVerdict>> verdicts_;  ///< from a resumed run
  std::vector<NamedProblem> published_;  ///< problems that a resumed run had settled
  std::size_t saved_ = 0;                ///< number of problems
  Clock::time_point next_{};
};

}  // namespace fatune
