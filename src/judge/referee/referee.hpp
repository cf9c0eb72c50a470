// referee.hpp - submissions to judgements, which it remembers, compares and explains.
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
#include "judge/referee/kernel_profile.hpp"
#include "judge/referee/leaderboard.hpp"
#include "judge/referee/listing.hpp"
#include "judge/referee/problem_book.hpp"
#include "judge/referee/tuning.hpp"
#include "tune/sweep/finals.hpp"

namespace fatune {

/// What a referee asks of others; each may be empty.
struct RefereeAids {
  MakeBaselines baselines = nullptr;      ///< what kernels are compared with on a problem
  std::vector<SavedConfig> shipped = {};  ///< that were best for a problem
  CountKernel count = nullptr;            ///< by ncu
  /// Machine code as text.
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
  /// Opens the device, whose floors they are; without one there are none.
  ProblemList list(const ListProblems& wanted);
  /// A manifest that cannot be read is an error, for its author to put right: nothing is judged.
  Result<JudgedKernel> judge(const Submission& submission, const Heartbeat& beat);
  Result<TunedKernel> tune(const TuneKernel& asked, const Heartbeat& beat);
  Result<KernelComparison> compare(const AskComparison& asked, const Heartbeat& beat);
  Result<KernelProfile> profile(const AskProfile& asked, const Heartbeat& beat);
  Result<Explanation> explain(const AskExplanation& asked) const;
  Result<History> history(const AskHistory& wanted) const;
  Result<Leaderboard> places(const AskLeaderboard& wanted) const;
  /// Of a judged kernel's machine code, by a disassembler.
  Result<std::string> machine_code(const std::string& id);
  /// The journal of "runs/3", as it stands in its file.
  Result<std::string> journal_of(const std::string& run) const;
  std::vector<std::string> runs() const;  ///< "runs/1", ..., in their order

 private:
  Result<JudgedKernel> examine(const Candidate& candidate, Scrutiny scrutiny,
                               const Heartbeat& beat);
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
  ScratchFolder scratch_;                                 ///< of runs, where the log has no folder
  std::map<Problem, std::vector<FinalRecord>> measured_;  ///< baselines, each problem's once
};

}  // namespace fatune
