// run_state.cpp - sorts a journal for a resumed run, counts progress, readies the evaluator.
#include "tune/sweep/run_state.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "model/results/sweep_result.hpp"
#include "tune/sweep/finals.hpp"

namespace fatune {

static constexpr std::uint64_t kEnoughForEstimate = 5;  // candidates; chosen

ResumeIndex::ResumeIndex(const Journal& journal) : finals_(journal.records) {
  for (const Record& record : journal.records) {
    complete_ = false;
    last_at_s_ = std::max(last_at_s_, moment_of(record));
    if (const auto* started = std::get_if<StartedRecord>(&record)) {
      last_started_ = *started;
    } else if (const auto* finished = std::get_if<CandidateRecord>(&record)) {
      finished_.insert_or_assign(finished->key, *finished);
    } else if (const auto* end = std::get_if<EndRecord>(&record)) {
      complete_ = end->status == "complete";
    }
  }
}

std::optional<CandidateRecord> ResumeIndex::find(const Candidate& candidate) const {
  const std::string key = candidate_key(candidate);
  if (const auto found = finished_.find(key); found != finished_.end()) return found->second;
  if (!suspect() || suspect()->key != key || !suspect()->again) return std::nullopt;
  CandidateRecord record = new_record(candidate, last_started_->id);
  record.outcome = Outcome::kCrashed;
  record.reason = "the run ended twice while this candidate was on the device";
  record.at_s = last_at_s_;
  return record;
}

const StartedRecord* ResumeIndex::suspect() const {
  const bool unfinished = last_started_ && !finished_.contains(last_started_->key);
  return unfinished ? &*last_started_ : nullptr;
}

std::vector<CandidateRecord> ResumeIndex::results(const Problem& problem) const {
  std::vector<CandidateRecord> found;
  for (const auto& [key, record] : finished_) {
    if (record.problem == problem) found.push_back(record);
  }
  std::ranges::stable_sort(found, {}, &CandidateRecord::at_s);
  return found;
}

ProgressTracker::ProgressTracker(std::function<void(const SweepProgress&)> show,
                                 std::size_t problems)
    : show_(std::move(show)) {
  progress_.problems = problems;
}

void ProgressTracker::begin_problem(const std::string& problem, double now_s) {
  const std::size_t problems = progress_.problems;
  progress_ = {};
  progress_.problems = problems;
  progress_.problem_number = next_problem_++;
  progress_.problem = problem;
  progress_.phase = "search";
  search_began_s_ = now_s;
  show(now_s);
}

void ProgressTracker::plan_candidates(std::uint64_t all, double deadline_s) {
  progress_.all = all;
  deadline_s_ = deadline_s;
}

void ProgressTracker::candidate_done(const CandidateRecord& record, std::optional<double> cost_us,
                                     double now_s) {
  ++progress_.done;
  ++progress_.outcomes[record.outcome];
  if (cost_us && (!progress_.best_us || *cost_us < *progress_.best_us)) {
    progress_.best_us = cost_us;
    progress_.best_config = record.kernel + ' ' + describe_config(record.config);
  }
  if (progress_.best_us) progress_.best_history_us.push_back(*progress_.best_us);
  show(now_s);
}

void ProgressTracker::begin_finals(double now_s) {
  progress_.phase = "final";
  progress_.activity.clear();
  show(now_s);
}

void ProgressTracker::activity(std::string_view phase, double now_s) {
  progress_.activity = phase;
  show(now_s);
}

std::optional<double> ProgressTracker::estimate_left(double now_s) const {
  if (progress_.phase != "search" || progress_.done < kEnoughForEstimate) return std::nullopt;
  const double each = (now_s - search_began_s_) / static_cast<double>(progress_.done);
  const std::uint64_t ahead = progress_.all > progress_.done ? progress_.all - progress_.done : 0;
  return std::clamp(deadline_s_ - now_s, 0.0, each * static_cast<double>(ahead));
}

void ProgressTracker::show(double now_s) {
  progress_.elapsed_s = now_s;
  progress_.left_s = estimate_left(now_s);
  if (show_) show_(progress_);
}

Status RunState::begin(const Problem& problem) {
  if (begun == problem) return {};
  clock.go_live();
  FATUNE_TRY_STATUS(evaluator.begin_problem(problem, plan));
  std::vector<Implementation> rivals;
  if (options.baselines) {
    FATUNE_TRY(rivals, options.baselines(problem));
  }
  if (baseline) rivals.push_back(reference_contestant(baseline, problem));
  if (options.baselines || baseline) FATUNE_TRY_STATUS(evaluator.expect(rivals));
  for (const auto& [key, record] : known.results()) {
    const KernelRef kernel = kernel_named(kernels, record.kernel);
    if (record.problem != problem || !kernel) continue;
    FATUNE_TRY(Config config, config_from_json(kernel->manifest, record.config, "journal: " + key));
    evaluator.remember({kernel, std::move(config), problem}, record);
  }
  begun = problem;
  return try_once_more(problem);
}

/// The suspect of the last attempt alone, before anything else is in flight: when the program ends
/// again, it was this candidate. Journals of before say no config; there it waits for its turn.
Status RunState::try_once_more(const Problem& problem) {
  const StartedRecord* suspect = known.suspect();
  if (suspect == nullptr || suspect->again || suspect->problem != problem) return {};
  if (options.finals_only) return {};  // it waits for a search
  const KernelRef kernel = kernel_named(kernels, suspect->kernel);
  if (!kernel) return {};
  FATUNE_TRY(Config config, config_from_json(kernel->manifest, suspect->config, "journal"));
  const Candidate candidate{kernel, std::move(config), problem};
  if (candidate_key(candidate) != suspect->key) return {};
  FATUNE_TRY_STATUS(evaluator.submit(candidate));
  FATUNE_TRY(CandidateRecord record, evaluator.collect());
  early.erase(record.key);
  record.at_s = clock.now();
  FATUNE_TRY_STATUS(journal.append(record));
  known.add(record);
  return {};
}

}  // namespace fatune
