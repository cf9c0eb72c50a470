// run_state.cpp: Counts progress, prepares the evaluator, and handles its reports.
#include "tune/sweep/run_state.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "tune/sweep/finals.hpp"

namespace fatune {

static constexpr std::uint64_t kEnoughForEstimate = 5;  // candidates; chosen

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
  FATUNE_TRY_STATUS(evaluator->begin_problem(problem, plan));
  std::vector<Implementation> baselines;
  if (options.baselines) {
    FATUNE_TRY(baselines, options.baselines(problem));
  }
  if (baseline) baselines.push_back(reference_contestant(baseline, problem));
  if (options.baselines || baseline) FATUNE_TRY_STATUS(evaluator->expect(baselines));
  for (const CandidateRecord& record : journal.results(problem)) {
    const KernelRef kernel = kernel_named(kernels, record.kernel);
    if (!kernel) continue;
    FATUNE_TRY(Config config,
               config_from_json(kernel->manifest, record.config, "journal: " + record.key));
    evaluator->remember({kernel, std::move(config), problem}, record);
  }
  begun = problem;
  FATUNE_TRY_STATUS(tell_begin(problem));
  return try_once_more(problem);
}

Status RunState::tell_begin(const Problem& problem) {
  if (device.empty()) return {};
  const bool goes_on = journal.span(problem).has_value();
  return journal.append(BeginRecord{problem, device, environment.device_uuid},
                        goes_on ? clock.now() : began_s);
}

/// Runs the suspect of the last attempt alone. If the program ends again, this candidate is to
/// blame.
Status RunState::try_once_more(const Problem& problem) {
  const std::optional<StartedRecord> suspect = journal.suspect(problem);
  if (!suspect || suspect->again) return {};
  if (options.finals_only) return {};  // a later search will try it
  const KernelRef kernel = kernel_named(kernels, suspect->kernel);
  if (!kernel) return {};
  FATUNE_TRY(Config config, config_from_json(kernel->manifest, suspect->config, "journal"));
  const Candidate candidate{kernel, std::move(config), problem};
  if (candidate_key(candidate) != suspect->key) return {};
  FATUNE_TRY_STATUS(evaluator->submit(candidate));
  FATUNE_TRY(CandidateRecord record, evaluator->collect());
  early.erase(record.key);
  return write(record);
}

void Unhook::operator()(Evaluator* evaluator) const {
  evaluator->on_start = nullptr;
  evaluator->on_early_result = nullptr;
  evaluator->on_progress = nullptr;
}

Hooked hook(RunState& run) {
  run.evaluator->on_start = [&run](StartedRecord started) -> Status {
    const auto suspect = started.problem ? run.journal.suspect(*started.problem) : std::nullopt;
    started.again = suspect && suspect->key == started.key;
    run.started.insert(started.key);
    return run.journal.append(started);
  };
  run.evaluator->on_early_result = [&run](CandidateRecord record) -> Status {
    FATUNE_TRY_STATUS(run.write(record));
    std::string key = record.key;
    run.early.insert_or_assign(std::move(key), std::move(record));
    return Status();
  };
  run.evaluator->on_progress = [&run](std::string_view phase) {
    run.progress.activity(phase, run.clock.now());
  };
  return Hooked(run.evaluator);
}

}  // namespace fatune
