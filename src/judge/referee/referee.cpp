// referee.cpp - reads a submission, has it examined, compares it, and keeps what came of it.
#include "judge/referee/referee.hpp"

#include <chrono>

#include <nlohmann/json.hpp>

#include "judge/referee/standing.hpp"

namespace fatune {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

Result<std::vector<Implementation>> Referee::baselines_for(const Problem& problem) const {
  if (!make_baselines_) return std::vector<Implementation>();
  return make_baselines_(problem);
}

/// By themselves, in as many rounds as `rank` has.
Result<const std::vector<FinalRecord>*> Referee::measured_baselines(const Problem& problem,
                                                                    const Heartbeat& beat) {
  auto found = measured_.find(problem);
  if (found != measured_.end()) return &found->second;
  FATUNE_TRY(const auto baselines, baselines_for(problem));
  std::vector<FinalRecord> records;
  if (!baselines.empty()) {
    FATUNE_TRY_STATUS(beat("baselines"));
    FATUNE_TRY(records, examiner_->examine(baselines, examination_plan(Scrutiny::kRank), beat));
  }
  return &measured_.emplace(problem, std::move(records)).first->second;
}

Result<JudgedKernel> Referee::examine(const Candidate& candidate, Scrutiny scrutiny,
                                      const Heartbeat& beat) {
  std::vector<Implementation> contestants = {implementation_of(candidate, "finalist")};
  if (scrutiny == Scrutiny::kFinal) {
    FATUNE_TRY(auto baselines, baselines_for(candidate.problem));
    std::ranges::move(baselines, std::back_inserter(contestants));
  }
  const Clock::time_point start = Clock::now();
  FATUNE_TRY(std::vector<FinalRecord> records,
             examiner_->examine(contestants, examination_plan(scrutiny), beat));
  JudgedKernel judgement;
  judgement.mode = scrutiny;
  judgement.record = std::move(records.front());
  records.erase(records.begin());
  judgement.gate = gate_of(judgement.record.outcome, judgement.record.reason);
  judgement.warnings = warnings_of(judgement.record);
  const Environment* device = examiner_->environment();
  if (device == nullptr) return judgement;
  judgement.device = device->device_name;
  if (!device->recorded) judgement.examined_s = seconds_since(start);
  if (!judgement.record.is_timed()) return judgement;
  if (scrutiny == Scrutiny::kFinal) {
    FATUNE_TRY_STATUS(compare_with(records, BaselineRounds::kSame, *device, judgement));
    return judgement;
  }
  FATUNE_TRY(const auto* kept, measured_baselines(candidate.problem, beat));
  FATUNE_TRY_STATUS(compare_with(*kept, BaselineRounds::kEarlier, *device, judgement));
  return judgement;
}

Result<JudgedKernel> Referee::judge(const Submission& submission, const Heartbeat& beat) {
  FATUNE_TRY(const BookedProblem booked, problems_.find(submission.problem));
  FATUNE_TRY(const Candidate candidate, read_submission(submission, booked.named.problem));
  FATUNE_TRY_STATUS(beat("compiling"));
  FATUNE_TRY(JudgedKernel judgement, examine(candidate, submission.mode, beat));
  judgement.problem_id = booked.id;
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
