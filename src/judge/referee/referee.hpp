// referee.hpp: Judges submissions; remembers, compares and explains the judgements.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/scratch_folder.hpp"
#include "judge/referee/duel.hpp"
#include "judge/referee/examiner.hpp"
#include "judge/referee/explanation.hpp"
#include "judge/referee/judgement.hpp"
#include "judge/referee/leaderboard.hpp"
#include "judge/referee/problem_book.hpp"
#include "judge/referee/tuning.hpp"
#include "tune/sweep/finals.hpp"

namespace fatune {

/// Optional services of a referee; each member may be empty.
struct RefereeAids {
  MakeBaselines baselines = nullptr;      ///< makes the baselines of a problem
  std::vector<SavedConfig> shipped = {};  ///< best shipped configs per problem
  CountKernel count = nullptr;            ///< reads hardware counters with ncu
  /// Finds kernels of fatune by name; without names, those that are tuned by default.
  std::function<Result<std::vector<KernelRef>>(const std::vector<std::string>& names)> choose =
      nullptr;
  /// Writes the best of a run into the run's folder and returns the files. `submitted` is the
  /// kernel of a run that tuned a submission.
  std::function<Result<std::vector<std::filesystem::path>>(
      const std::filesystem::path& run, const AskExport& asked, const KernelRef& submitted)>
      write_winner = nullptr;
  /// Disassembles a candidate's machine code.
  std::function<Result<std::string>(const Candidate&, const DeviceLimits&)> disassemble = nullptr;
};

class Referee {
 public:
  Referee(ProblemBook problems, std::unique_ptr<Examiner> examiner, JudgementLog log,
          RefereeAids aids = {})
      : problems_(std::move(problems)),
        examiner_(std::move(examiner)),
        log_(std::move(log)),
        aids_(std::move(aids)) {}

  const ProblemBook& problems() const { return problems_; }
  const JudgementLog& log() const { return log_; }
  /// Lists problems; opens the device to compute floors, and omits floors without a device.
  Result<ProblemList> list(const ListProblems& wanted);
  /// Fails for a manifest that cannot be read; such a submission gets no judgement.
  Result<JudgedKernel> judge(const Submission& submission, const Heartbeat& beat);
  Result<TunedKernel> tune(const TuneKernel& asked, const Heartbeat& beat);
  /// Searches fatune's kernels. The best is no submission, and not part of the history.
  Result<TunedKernel> sweep(const SweepProblem& asked, const Heartbeat& beat);
  /// Exports the best of a run of tune() or sweep().
  Result<ExportedWinner> export_winner(const AskExport& asked) const;
  Result<KernelComparison> compare(const AskComparison& asked, const Heartbeat& beat);
  Result<KernelProfile> profile(const AskProfile& asked, const Heartbeat& beat);
  Result<Explanation> explain(const AskExplanation& asked) const;
  Result<History> history(const AskHistory& wanted) const;
  Result<Leaderboard> places(const AskLeaderboard& wanted) const;
  /// Returns the disassembled machine code of a judged kernel.
  Result<std::string> machine_code(const std::string& id);
  /// Returns the text of the journal file of a run such as "runs/3".
  Result<std::string> journal_of(const std::string& run) const;
  std::vector<std::string> runs() const;  ///< "runs/1", "runs/2", ... in order

 private:
  Result<JudgedKernel> examine(const Candidate& candidate, Scrutiny scrutiny,
                               const Heartbeat& beat);
  Result<TunedKernel> search(SearchOrder order, const SearchBudget& budget, const Heartbeat& beat,
                             ProblemResult& found);
  Result<std::filesystem::path> folder_of(const std::string& run) const;
  Result<JudgedKernel> judge_best(const ProblemResult& found, const Submission& submission,
                                  const Environment& device, const Heartbeat& beat);
  Result<Candidate> candidate_of(const JudgedKernel& judgement) const;
  Result<std::vector<Implementation>> baselines_for(const Problem& problem) const;
  Result<const std::vector<FinalRecord>*> measured_baselines(const Problem& problem,
                                                             const Heartbeat& beat);
  std::vector<KnownTime> known_times(const BookedProblem& booked) const;
  std::filesystem::path runs_folder() const;
  Result<std::string> new_run();
  Status keep(const BookedProblem& booked, const Submission& submission, const Kernel& kernel,
              JudgedKernel& judgement);

  ProblemBook problems_;
  std::unique_ptr<Examiner> examiner_;
  JudgementLog log_;
  RefereeAids aids_;
  ScratchFolder scratch_;  ///< folder for runs where the log has no folder
  std::map<Problem, std::vector<FinalRecord>> measured_;  ///< baselines, measured once
};

}  // namespace fatune
