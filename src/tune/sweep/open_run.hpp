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

/// A run with its journal open, and its results so far. `options`, `kernels` and the journal's
/// index outlive every RunState that state() gives.
struct OpenRun {
  const SweepOptions& options;
  const std::vector<KernelRef>& kernels;
  KernelRef baseline;  ///< the reference, when it takes part; else null
  SweepResult result;
  std::unique_ptr<RunJournal> journal;
  double journalled_s = 0;                   ///< length of the attempts before this one
  Environment here = {};                     ///< of this attempt
  std::optional<Environment> began_on = {};  ///< of a resumed run
  std::set<std::string> absent = {};         ///< baselines, named in a warning

  RunState state(Evaluator& evaluator, RunClock clock) const;
  /// Puts a problem's result at its place in the order of the plan.
  void take(ProblemResult swept);
  bool has(const NamedProblem& problem) const;
  /// Names baselines that a final phase lacked, each once.
  void warn_of_absent(const ProblemResult& problem);
};

/// Creates the run's folder, or resumes the run that it holds. `environment` is that of all devices
/// in common; `helpers` are other devices that measure candidates.
Result<OpenRun> open_run(const SweepOptions& options, const std::vector<KernelRef>& kernels,
                         const KernelRef& reference, const Environment& environment,
                         const std::vector<Environment>& helpers);

/// The result of a problem as the journal has it. Nothing is measured: of the evaluator only the
/// environment counts.
Result<ProblemResult> recall_problem(const NamedProblem& problem, const SavedConfigs& known,
                                     const OpenRun& run, Evaluator& evaluator);

/// Adds what the journal has of problems that this attempt did not come to: it stays published.
Status keep_the_rest(OpenRun& run, const SavedConfigs& known, Evaluator& evaluator);

/// Appends how the run ended, unless nothing was added to a complete run.
Status close_run(OpenRun& run);

/// Writes best.json after each problem. The file holds all problems so far: of thousands that take
/// milliseconds each, most of the time would be spent on writing.
class Saver {
 public:
  explicit Saver(OpenRun& run);

  /// Not before the results have all that the run had published: it may be killed meanwhile.
  Status save_in_time();
  Status save_the_last();
  Status save();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kLeastShare = 20;  ///< of other work, to one of writing; chosen

  bool is_whole() const;
  void keep_verdict(ProblemResult& problem) const;

  OpenRun& run_;
  std::map<std::string, std::vector<ToolVerdict>> verdicts_;  ///< of a run that is resumed
  std::vector<NamedProblem> published_;                       ///< that a resumed run had settled
  std::size_t saved_ = 0;                                     ///< problems
  Clock::time_point next_{};
};

}  // namespace fatune
