// open_run.cpp: Opens, saves and closes a run: journal, environment and best.json.
#include "tune/sweep/open_run.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/log.hpp"
#include "core/text.hpp"
#include "search/strategies/strategy.hpp"
#include "tune/sweep/best.hpp"
#include "tune/sweep/comparison.hpp"
#include "tune/sweep/saved_result.hpp"
#include "tune/sweep/warm_start.hpp"

namespace fatune {
namespace {

struct OpenedJournal {
  std::unique_ptr<RunJournal> journal;
  std::vector<SavedConfig> warm_starts;
  std::optional<Shard> shard;
  std::optional<Environment> began_on = {};  ///< set for a resumed run
  std::vector<Environment> helpers = {};     ///< of the run so far
};

Result<OpenedJournal> open_journal(const SweepOptions& options, const RunPlan& plan,
                                   const Environment& environment,
                                   const std::vector<Environment>& helpers) {
  OpenedJournal opened;
  if (!options.resume) {
    FATUNE_TRY(JournalWriter writer,
               JournalWriter::create(options.out, {plan, environment, {}, helpers}));
    opened.journal = std::make_unique<RunJournal>(std::move(writer), ResumeIndex());
    opened.warm_starts = plan.warm_starts;
    opened.shard = plan.shard;
    return opened;
  }
  FATUNE_TRY(JournalWriter writer, JournalWriter::resume(options.out));
  FATUNE_TRY(const Journal journal, load_journal(writer.path()));
  const std::string where = writer.path().string();
  const std::string differs = difference(journal.header.plan, plan);
  if (!differs.empty()) {
    return usage_error("resume: " + where + " is of another plan: " + differs +
                       "; use the same arguments, or start a new run with --out");
  }
  FATUNE_TRY_STATUS(
      check_same_device(journal.header.environment, environment, where, Reuse::kResume));
  opened.journal = std::make_unique<RunJournal>(std::move(writer), ResumeIndex(journal));
  opened.began_on = journal.header.environment;
  opened.helpers = journal.header.helpers;
  opened.warm_starts = journal.header.plan.warm_starts;
  opened.shard = journal.header.plan.shard;
  return opened;
}

/// Returns the environment of a resumed run's final phases: its first one or this one. Several GPUs
/// leave the UUID empty.
Environment measured_on(const OpenRun& run, const Environment& here) {
  const Environment& first = *run.began_on;
  std::set<std::string> gpus;
  for (const ProblemResult& problem : run.result.problems) {
    for (const FinalRecord& each : problem.finals)
      gpus.insert(each.gpu.empty() ? first.device_uuid : each.gpu);
  }
  const auto all_of = [&](const Environment& one) { return gpus == std::set{one.device_uuid}; };
  if (!run.journal->has_new_finals() && all_of(first)) return first;
  if (all_of(here)) return here;
  if (gpus.empty()) return run.journal->has_grown() ? here : first;
  Environment several = here;
  several.device_uuid.clear();
  if (first.host != here.host) several.host.clear();
  return several;
}

/// Refuses a plan of which no problem can be done, before anything is measured or written.
Status check_problems(const RunPlan& plan, const std::vector<KernelRef>& kernels,
                      const DeviceLimits& limits) {
  std::vector<std::string> reasons;
  for (const NamedProblem& problem : plan.problems) {
    ProblemResult scratch;
    scratch.problem = problem;
    const auto built = build_spaces(kernels, limits, scratch);
    if (!built && !is_of_problem(built.error())) return built.error();
    if (!built) {
      reasons.push_back(built.error().message);
    } else if (plan.strategy == kKnownStrategy) {
      return {};
    } else {
      const auto made = make_strategy(plan.strategy, built->spaces.front().lattice(), {});
      return made ? Status() : made.error();
    }
  }
  return impossible_error(join(reasons, "\n"));
}

RunPlan complete_plan(RunPlan plan, const std::vector<KernelRef>& kernels) {
  plan.kernels.clear();
  plan.kernel_hashes.clear();
  for (const KernelRef& kernel : kernels) {
    plan.kernels.push_back(kernel->manifest.name);
    plan.kernel_hashes.push_back(kernel->text_hash);
  }
  return plan;
}

/// Returns compute-sanitizer's verdicts by candidate id, which only best.json holds.
std::map<std::string, std::vector<ToolVerdict>> saved_verdicts(
    const std::filesystem::path& folder) {
  std::map<std::string, std::vector<ToolVerdict>> verdicts;
  const auto saved = load_best_file(folder);
  if (!saved) return verdicts;  // best.json is missing, or will be written anew
  for (const BestProblem& problem : saved->problems) {
    if (problem.best && problem.best->verification)
      verdicts[problem.best->id] = problem.best->verification->sanitizer;
  }
  return verdicts;
}

/// With finals_only every search counts as ended if it has begun.
bool all_were_searched(const SweepResult& result) {
  return std::ranges::none_of(result.problems, [](const ProblemResult& problem) {
    return problem.candidates.empty() && problem.why_not_tried().empty();
  });
}

}  // namespace

RunState OpenRun::state(Evaluator* evaluator, RunClock clock) const {
  return {.options = options,
          .plan = result.plan,
          .kernels = kernels,
          .baseline = baseline,
          .environment = evaluator == nullptr ? here : evaluator->environment(),
          .evaluator = evaluator,
          .journal = *journal,
          .clock = std::move(clock),
          .progress = ProgressTracker(options.on_progress, shard_problems(result.plan).size())};
}

void OpenRun::take(ProblemResult swept) {
  const auto next = std::ranges::upper_bound(result.problems, place_of(swept), {},
                                             std::bind_front(&OpenRun::place_of, this));
  result.problems.insert(next, std::move(swept));
}

bool OpenRun::has(const NamedProblem& problem) const {
  return std::ranges::binary_search(result.problems, places.at(problem.problem), {},
                                    std::bind_front(&OpenRun::place_of, this));
}

/// Warns of each missing baseline once, and only if the run has problems left.
void OpenRun::warn_of_absent(const ProblemResult& problem) {
  const std::size_t left = shard_problems(result.plan).size() - result.problems.size();
  for (const FinalRecord& each : problem.finals) {
    const bool missing = each.is_baseline() && each.outcome == Outcome::kUnavailable;
    if (!missing || left == 0 || !absent.insert(each.impl).second) continue;
    log::warn(fmt::format("{} is not there, nor will it be for the {} left: {}", each.impl,
                          counted(left, "problem"), first_line(each.reason)));
  }
}

Result<OpenRun> open_run(const SweepOptions& options, const std::vector<KernelRef>& kernels,
                         const KernelRef& reference, const Environment& environment,
                         const std::vector<Environment>& helpers) {
  OpenRun run{options, kernels, options.reference_is_baseline ? reference : nullptr, {}, nullptr};
  SweepResult& result = run.result;
  result.plan = complete_plan(options.plan, kernels);
  for (const NamedProblem& each : result.plan.problems)
    run.places.emplace(each.problem, run.places.size());
  result.environment = environment;
  result.folder = options.out;
  FATUNE_TRY_STATUS(check_problems(result.plan, kernels, environment.limits));
  result.plan.warm_starts = select_warm_starts(options.known, result.plan, environment.limits.arch);
  complete_configs(kernels, result.plan.warm_starts);
  if (result.plan.shard) result.plan.shard->plan = plan_hash(result.plan);
  FATUNE_TRY(OpenedJournal opened, open_journal(options, result.plan, environment, helpers));
  result.helpers = std::move(opened.helpers);
  add_helpers(helpers, result.helpers);
  result.plan.warm_starts = std::move(opened.warm_starts);
  result.plan.shard = std::move(opened.shard);
  run.journal = std::move(opened.journal);
  run.journalled_s = run.journal->last_at_s();
  run.here = environment;
  run.began_on = std::move(opened.began_on);
  return run;
}

Result<ProblemResult> recall_problem(const NamedProblem& problem, const SavedConfigs& known,
                                     const OpenRun& run) {
  RunState state = run.state(nullptr, RunClock({}, run.journal->last_at_s()));
  state.progress = ProgressTracker(nullptr, 0);
  return sweep_problem(problem, known, state);
}

Status keep_the_rest(OpenRun& run, const SavedConfigs& known) {
  for (const NamedProblem& problem : shard_problems(run.result.plan)) {
    if (run.has(problem) || run.journal->finals(problem.problem).empty()) continue;
    FATUNE_TRY(ProblemResult recalled, recall_problem(problem, known, run));
    run.take(std::move(recalled));
  }
  return {};
}

Status close_run(OpenRun& run) {
  const bool was_complete = run.journal->was_complete();
  if (was_complete && !run.journal->has_grown()) return {};
  const bool complete = !run.result.interrupted && (was_complete || all_were_searched(run.result));
  return run.journal->append(EndRecord{complete ? "complete" : "interrupted", run.result.seconds});
}

Saver::Saver(OpenRun& run) : run_(run) {
  if (!run.options.resume) return;
  verdicts_ = saved_verdicts(run.options.out);
  for (const NamedProblem& problem : shard_problems(run.result.plan)) {
    if (!run.journal->finals(problem.problem).empty()) published_.push_back(problem);
  }
}

bool Saver::is_whole() const {
  return std::ranges::all_of(published_,
                             [this](const NamedProblem& problem) { return run_.has(problem); });
}

Status Saver::save_in_time() { return !is_whole() || Clock::now() < next_ ? Status() : save(); }

Status Saver::save_the_last() { return saved_ == run_.result.problems.size() ? Status() : save(); }

Status Saver::save() {
  const Clock::time_point begin = Clock::now();
  SweepResult& result = run_.result;
  if (run_.began_on) result.environment = measured_on(run_, run_.here);
  for (ProblemResult& problem : result.problems) keep_verdict(problem);
  FATUNE_TRY_STATUS(save_best(result));
  FATUNE_TRY_STATUS(save_suite(result, run_.options.date));
  saved_ = result.problems.size();
  next_ = Clock::now() + kLeastShare * (Clock::now() - begin);
  return {};
}

void Saver::keep_verdict(ProblemResult& problem) const {
  if (problem.best() == nullptr) return;
  FinalRecord& best = problem.finals.front();
  const auto verdict = verdicts_.find(best.id);
  if (verdict != verdicts_.end() && best.verification)
    take_verdicts(verdict->second, *best.verification);
}

}  // namespace fatune
