// referee.hpp - submissions to judgements, which it remembers.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "judge/referee/examiner.hpp"
#include "judge/referee/judgement.hpp"
#include "judge/referee/problem_book.hpp"
#include "tune/sweep/finals.hpp"

namespace fatune {

class Referee {
 public:
  /// `baselines`: what kernels are compared with on a problem; empty: nothing.
  Referee(ProblemBook problems, std::unique_ptr<Examiner> examiner, JudgementLog log,
          MakeBaselines baselines = nullptr)
      : problems_(std::move(problems)),
        examiner_(std::move(examiner)),
        log_(std::move(log)),
        make_baselines_(std::move(baselines)) {}

  const ProblemBook& problems() const { return problems_; }
  /// A manifest that cannot be read is an error, for its author to put right: nothing is judged.
  Result<JudgedKernel> judge(const Submission& submission, const Heartbeat& beat);
  Result<History> history(const AskHistory& wanted) const;

 private:
  Result<JudgedKernel> examine(const Candidate& candidate, Scrutiny scrutiny,
                               const Heartbeat& beat);
  Result<std::vector<Implementation>> baselines_for(const Problem& problem) const;
  Result<const std::vector<FinalRecord>*> measured_baselines(const Problem& problem,
                                                             const Heartbeat& beat);

  ProblemBook problems_;
  std::unique_ptr<Examiner> examiner_;
  JudgementLog log_;
  MakeBaselines make_baselines_;
  std::map<Problem, std::vector<FinalRecord>> measured_;  ///< baselines, each problem's once
};

}  // namespace fatune
