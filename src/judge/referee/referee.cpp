// referee.cpp: Reads, examines and compares submissions and keeps their judgements.
#include "judge/referee/referee.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kRuns = "runs";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

JudgedKernel judgement_of(FinalRecord record, Scrutiny scrutiny, const Environment* device) {
  JudgedKernel judgement;
  judgement.mode = scrutiny;
  judgement.record = std::move(record);
  judgement.gate = gate_of(judgement.record.outcome, judgement.record.reason);
  judgement.warnings = warnings_of(judgement.record);
  if (device != nullptr) judgement.device = device->device_name;
  return judgement;
}

}  // namespace

Result<std::vector<Implementation>> Referee::baselines_for(const Problem& problem) const {
  if (!aids_.baselines) return std::vector<Implementation>();
  return aids_.baselines(problem);
}

/// Measures the baselines without the candidate, in the number of rounds of `rank`.
Result<const std::vector<FinalRecord>*> Referee::measured_baselines(const Problem& problem,
                                                                    const Heartbeat& beat) {
  auto found = measured_.find(problem);
  if (found != measured_.end()) return &found->second;
  FATUNE_TRY(const auto baselines, baselines_for(problem));
  Examined examined;
  if (!baselines.empty()) {
    FATUNE_TRY_STATUS(beat("baselines"));
    FATUNE_TRY(examined, examiner_->examine(baselines, examination_plan(Scrutiny::kRank), beat));
  }
  return &measured_.emplace(problem, std::move(examined.records)).first->second;
}

Result<JudgedKernel> Referee::examine(const Candidate& candidate, Scrutiny scrutiny,
                                      const Heartbeat& beat) {
  std::vector<Implementation> contestants = {implementation_of(candidate)};
  if (scrutiny == Scrutiny::kFinal) {
    FATUNE_TRY(auto baselines, baselines_for(candidate.problem));
    std::ranges::move(baselines, std::back_inserter(contestants));
  }
  FATUNE_TRY(const Environment* device, examiner_->environment());
  const Clock::time_point start = Clock::now();
  FATUNE_TRY(Examined examined, examiner_->examine(contestants, examination_plan(scrutiny), beat));
  std::vector<FinalRecord>& records = examined.records;
  JudgedKernel judgement = judgement_of(std::move(records.front()), scrutiny, device);
  judgement.regions = std::move(examined.regions);
  records.erase(records.begin());
  if (device == nullptr) return judgement;
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

Status Referee::keep(const BookedProblem& booked, const Submission& submission,
                     const Kernel& kernel, JudgedKernel& judgement) {
  judgement.record.id = submission_id(judgement.record.id, submission);
  judgement.problem_id = booked.id;
  judgement.thought = submission.thought;
  judgement.parents = submission.parents;
  return log_.add(judgement, submission, kernel);
}

std::vector<KnownTime> Referee::known_times(const BookedProblem& booked) const {
  const Problem& problem = booked.named.problem;
  std::vector<KnownTime> known;
  const auto add = [&known](std::optional<KnownTime> time) {
    if (time) known.push_back(*std::move(time));
  };
  add(best_shipped(aids_.shipped, problem));
  if (const auto measured = measured_.find(problem); measured != measured_.end()) {
    for (const FinalRecord& each : measured->second) add(known_time(each, "baseline"));
  }
  const Leaderboard places = leaderboard(log_.judgements(), {booked.id, 1});
  for (const LeaderboardRow& row : places.rows) {
    const FinalRecord& record = row.judgement.record;
    add(known_time(record, record.id));
  }
  return known;
}

Result<ProblemList> Referee::list(const ListProblems& wanted) {
  FATUNE_TRY(std::vector<BookedProblem> page, problems_.list(wanted));
  const auto opened = examiner_->environment();
  const Environment* device = opened ? *opened : nullptr;
  ProblemList list;
  const auto most = static_cast<std::size_t>(wanted.first.value_or(kUsualPage));
  if (page.size() > most) list.next = page[most - 1].id;
  page.resize(std::min(page.size(), most));
  for (BookedProblem& each : page) {
    ListedProblem listed{each, std::nullopt, known_times(each)};
    if (device != nullptr) listed.floors = physics_floor(each.named.problem, *device);
    if (listed.floors && !listed.floors->unknown.empty()) listed.floors.reset();
    list.problems.push_back(std::move(listed));
  }
  return list;
}

Result<JudgedKernel> Referee::judge(const Submission& submission, const Heartbeat& beat) {
  FATUNE_TRY(const BookedProblem booked, problems_.find(submission.problem));
  FATUNE_TRY(const Candidate candidate, read_submission(submission, booked.named.problem));
  FATUNE_TRY_STATUS(log_.check_room());
  FATUNE_TRY_STATUS(beat("compiling"));
  FATUNE_TRY(JudgedKernel judgement, examine(candidate, submission.mode, beat));
  FATUNE_TRY_STATUS(keep(booked, submission, *candidate.kernel, judgement));
  return judgement;
}

/// Judges the best config from the rounds of the search's final phase.
static Result<JudgedKernel> judgement_of_best(const ProblemResult& found,
                                              const Environment& device) {
  JudgedKernel best = judgement_of(*found.best(), Scrutiny::kFinal, &device);
  std::vector<FinalRecord> baselines;
  std::ranges::copy_if(found.finals, std::back_inserter(baselines), &FinalRecord::is_baseline);
  FATUNE_TRY_STATUS(compare_with(baselines, BaselineRounds::kSame, device, best));
  return best;
}

/// A recording numbers its records itself, so the config is examined like a submission.
Result<JudgedKernel> Referee::judge_best(const ProblemResult& found, const Submission& submission,
                                         const Environment& device, const Heartbeat& beat) {
  if (!device.recorded) return judgement_of_best(found, device);
  FATUNE_TRY(const Candidate candidate, read_submission(submission, found.problem.problem));
  return examine(candidate, Scrutiny::kFinal, beat);
}

/// Runs a search in a new folder; `found` is its problem's result.
Result<TunedKernel> Referee::search(SearchOrder order, const SearchBudget& budget,
                                    const Heartbeat& beat, ProblemResult& found) {
  FATUNE_TRY(order.plan, plan_of(budget));
  FATUNE_TRY(const std::string run, new_run());
  order.out = runs_folder().parent_path() / run;
  FATUNE_TRY(SweepResult result, examiner_->search(order, beat));
  found = std::move(result.problems.front());
  FATUNE_TRY(TunedKernel tuned, read_tuning(found, order.out));
  tuned.run = run;
  return tuned;
}

Result<TunedKernel> Referee::tune(const TuneKernel& asked, const Heartbeat& beat) {
  FATUNE_TRY(const BookedProblem booked, problems_.find(asked.submission.problem));
  Submission submission = asked.submission;
  submission.mode = Scrutiny::kFinal;
  FATUNE_TRY(const Candidate usual, read_submission(submission, booked.named.problem));
  FATUNE_TRY_STATUS(log_.check_room());
  FATUNE_TRY(const Environment* device, examiner_->environment());
  ProblemResult found;
  FATUNE_TRY(TunedKernel tuned,
             search({booked.named, {usual.kernel}, {}, aids_.baselines, {}}, asked, beat, found));
  if (found.best() == nullptr) return tuned;
  submission.config = dump(found.best()->config);
  FATUNE_TRY(JudgedKernel best, judge_best(found, submission, *device, beat));
  best.run = tuned.run;
  FATUNE_TRY_STATUS(keep(booked, submission, *usual.kernel, best));
  tuned.best = std::move(best);
  return tuned;
}

Result<TunedKernel> Referee::sweep(const SweepProblem& asked, const Heartbeat& beat) {
  FATUNE_TRY(const BookedProblem booked,
             asked.problem ? problems_.find(*asked.problem) : problem_of_shape(asked));
  FATUNE_TRY(const auto kernels, aids_.choose(asked.kernels));
  FATUNE_TRY(const Environment* device, examiner_->environment());
  ProblemResult found;
  FATUNE_TRY(
      TunedKernel tuned,
      search({booked.named, kernels, {}, aids_.baselines, {}, aids_.shipped}, asked, beat, found));
  if (found.best() == nullptr) return tuned;
  FATUNE_TRY(tuned.best, judgement_of_best(found, *device));
  tuned.best->problem_id = booked.id;
  tuned.best->run = tuned.run;
  return tuned;
}

Result<ExportedWinner> Referee::export_winner(const AskExport& asked) const {
  FATUNE_TRY(const std::filesystem::path folder, folder_of(asked.run));
  KernelRef submitted;
  for (const JudgedKernel& each : log_.judgements()) {
    if (each.run != asked.run) continue;
    FATUNE_TRY(const Candidate candidate, candidate_of(each));
    submitted = candidate.kernel;
  }
  FATUNE_TRY(const auto files, aids_.write_winner(folder, asked, submitted));
  ExportedWinner winner;
  for (const std::filesystem::path& file : files) {
    ExportedFile written{file.string(), ""};
    if (file.extension() != ".cubin") {
      FATUNE_TRY(written.text, read_file(file));
    }
    winner.files.push_back(std::move(written));
  }
  return winner;
}

Result<Candidate> Referee::candidate_of(const JudgedKernel& judgement) const {
  FATUNE_TRY(const Submission submission, log_.submission_of(judgement));
  return read_submission(submission, judgement.record.problem);
}

Result<KernelComparison> Referee::compare(const AskComparison& asked, const Heartbeat& beat) {
  std::vector<Implementation> contestants;
  std::string problem_id;
  for (const std::string& id : asked.ids) {
    FATUNE_TRY(const JudgedKernel judgement, log_.find(id));
    if (problem_id.empty()) problem_id = judgement.problem_id;
    if (judgement.problem_id != problem_id) {
      return usage_error(
          fmt::format("ids: {} is of {}, the first of {}: kernels of one problem are compared", id,
                      judgement.problem_id, problem_id));
    }
    FATUNE_TRY(Candidate candidate, candidate_of(judgement));
    contestants.push_back(implementation_of(std::move(candidate)));
  }
  FATUNE_TRY(const Environment* device, examiner_->environment());
  if (device == nullptr)
    return environment_error("kernels are compared by times, and there is no GPU here");
  FinalPlan plan = examination_plan(Scrutiny::kRank);
  plan.rounds = static_cast<int>(asked.rounds.value_or(kDuelRounds));
  FATUNE_TRY(Examined examined, examiner_->examine(contestants, plan, beat));
  for (std::size_t i = 0; i < asked.ids.size(); ++i) examined.records[i].id = asked.ids[i];
  FATUNE_TRY(KernelComparison duel, decide_duel(std::move(examined.records)));
  duel.problem_id = problem_id;
  duel.device = device->device_name;
  duel.recorded = device->recorded;
  return duel;
}

Result<KernelProfile> Referee::profile(const AskProfile& asked, const Heartbeat& beat) {
  KernelProfile answer;
  FATUNE_TRY(answer.judgement, log_.find(asked.id));
  const FinalRecord& record = answer.judgement.record;
  if (!answer.judgement.passed()) {
    return usage_error(fmt::format(
        "{} is {}: counters of a kernel that no gate let pass explain nothing; explain_failure "
        "says what is wrong with it",
        asked.id, name(record.outcome)));
  }
  FATUNE_TRY(const Candidate candidate, candidate_of(answer.judgement));
  FATUNE_TRY(const Environment* device, examiner_->environment());
  if (device == nullptr || !aids_.count)
    return environment_error("counters are a GPU's, and there is none here: --device cuda:N");
  const DeviceLimits limits = device->limits;
  FATUNE_TRY(const LaunchPlan plan, launch_plan(candidate, limits));
  answer.profile.facts = launch_facts(plan, record.resources.value_or(Resources{}), limits);
  FATUNE_TRY_STATUS(beat("profiling"));
  examiner_->rest();
  FATUNE_TRY(answer.profile.outcome, aids_.count(candidate, limits));
  return answer;
}

Result<Explanation> Referee::explain(const AskExplanation& asked) const {
  FATUNE_TRY(const JudgedKernel judgement, log_.find(asked.id));
  FATUNE_TRY(const Submission submission, log_.submission_of(judgement));
  return fatune::explain(judgement, submission.source);
}

Result<History> Referee::history(const AskHistory& wanted) const {
  if (wanted.problem) {
    FATUNE_TRY(const BookedProblem booked, problems_.find(*wanted.problem));
    return log_.history({booked.id, wanted.last});
  }
  return log_.history(wanted);
}

Result<Leaderboard> Referee::places(const AskLeaderboard& wanted) const {
  FATUNE_TRY(const BookedProblem booked, problems_.find(wanted.problem));
  return leaderboard(log_.judgements(), {booked.id, wanted.first});
}

Result<std::string> Referee::machine_code(const std::string& id) {
  FATUNE_TRY(const JudgedKernel judgement, log_.find(id));
  FATUNE_TRY(const Candidate candidate, candidate_of(judgement));
  FATUNE_TRY(const Environment* device, examiner_->environment());
  if (device == nullptr || !aids_.disassemble)
    return environment_error("machine code is a device's, and there is none here: --device cuda:N");
  return aids_.disassemble(candidate, device->limits);
}

std::filesystem::path Referee::runs_folder() const {
  return (log_.folder().empty() ? scratch_.path() : log_.folder()) / kRuns;
}

std::vector<std::string> Referee::runs() const {
  std::vector<std::string> found;
  if (log_.folder().empty() && scratch_.path().empty()) return found;
  std::error_code none;
  for (int number = 1;; ++number) {
    const std::string name = fmt::to_string(number);
    if (!std::filesystem::is_directory(runs_folder() / name, none)) return found;
    found.push_back(fmt::format("{}/{}", kRuns, name));
  }
}

Result<std::string> Referee::new_run() {
  if (log_.folder().empty() && scratch_.path().empty()) {
    FATUNE_TRY(scratch_, ScratchFolder::make());
  }
  const std::string run = fmt::format("{}/{}", kRuns, runs().size() + 1);
  FATUNE_TRY(const Descriptor made, make_folders_below(runs_folder().parent_path(), run));
  return run;
}

Result<std::filesystem::path> Referee::folder_of(const std::string& run) const {
  const std::vector<std::string> known = runs();
  if (std::ranges::find(known, run) == known.end())
    return usage_error(fmt::format("there is no run '{}'", excerpt(run)));
  return runs_folder().parent_path() / run;
}

Result<std::string> Referee::journal_of(const std::string& run) const {
  FATUNE_TRY(const std::filesystem::path folder, folder_of(run));
  return read_file(folder / "journal.jsonl", kJournalFile);
}

}  // namespace fatune
