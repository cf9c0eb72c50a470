// referee.cpp - reads a submission, has it examined, and keeps what came of it.
#include "judge/referee/referee.hpp"

#include <nlohmann/json.hpp>

namespace fatune {

Result<JudgedKernel> Referee::judge(const Submission& submission, const Heartbeat& beat) {
  FATUNE_TRY(const BookedProblem booked, problems_.find(submission.problem));
  FATUNE_TRY(const Candidate candidate, read_submission(submission, booked.named.problem));
  FATUNE_TRY_STATUS(beat("compiling"));
  JudgedKernel judgement;
  FATUNE_TRY(judgement.record, examiner_->check(candidate, beat));
  judgement.problem_id = booked.id;
  judgement.gate = gate_of(judgement.record.outcome, judgement.record.reason);
  judgement.thought = submission.thought;
  judgement.parents = submission.parents;
  FATUNE_TRY_STATUS(log_.add(judgement, submission, *candidate.kernel));
  return judgement;
}

Result<History> Referee::history(const AskHistory& wanted) const {
  if (wanted.problem) {
    FATUNE_TRY(const BookedProblem booked, problems_.find(*wanted.problem));
    return log_.history({booked.id, wanted.last});
  }
  return log_.history(wanted);
}

}  // namespace fatune
