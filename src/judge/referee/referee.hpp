// referee.hpp - submissions to judgements, which it remembers.
#pragma once

#include <memory>

#include "judge/referee/examiner.hpp"
#include "judge/referee/judgement.hpp"
#include "judge/referee/problem_book.hpp"

namespace fatune {

class Referee {
 public:
  Referee(ProblemBook problems, std::unique_ptr<Examiner> examiner, JudgementLog log)
      : problems_(std::move(problems)), examiner_(std::move(examiner)), log_(std::move(log)) {}

  const ProblemBook& problems() const { return problems_; }
  /// A manifest that cannot be read is an error, for its author to put right: nothing is judged.
  Result<JudgedKernel> judge(const Submission& submission, const Heartbeat& beat);
  Result<History> history(const AskHistory& wanted) const;

 private:
  ProblemBook problems_;
  std::unique_ptr<Examiner> examiner_;
  JudgementLog log_;
};

}  // namespace fatune
