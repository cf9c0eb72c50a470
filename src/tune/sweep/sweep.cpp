// sweep.cpp - opens or resumes a run, sweeps its problems, writes best.json meanwhile.
#include "tune/sweep/sweep.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/log.hpp"
#include "core/text.hpp"
#include "search/strategies/strategy.hpp"
#include "tune/sweep/best.hpp"
#include "tune/sweep/comparison.hpp"
#include "tune/sweep/problem_sweep.hpp"
#include "tune/sweep/run_state.hpp"
#include "tune/sweep/saved_result.hpp"
#include "tune/sweep/warm_start.hpp"

namespace fatune {
namespace {

/// Lets the evaluator report to a run, for as long as what is returned lives.
auto hook(RunState& run) {
  run.evaluator.on_start = [&run](StartedRecord started) {
    const StartedRecord* suspect = run.known.suspect();
    started.again = suspect != nullptr && suspect->key == started.key;
    run.started.insert(started.key);
    return run.journal.append(started);
  };
  run.evaluator.on_early_result = [&run](CandidateRecord record) -> Status {
    record.at_s = run.clock.now();
    FATUNE_TRY_STATUS(run.journal.append(record));
    std::string key = record.key;
    run.early.insert_or_assign(std::move(key), std::move(record));
    return Status();
  };
  run.evaluator.on_progress = [&run](std::string_view phase) {
    run.progress.activity(phase, run.clock.now());
  };
  const auto unhook = [](Evaluator* evaluator) {
    evaluator->on_start = nullptr;
    evaluator->on_early_result = nullptr;
    evaluator->on_progress = nullptr;
  };
  return std::unique_ptr<Evaluator, decltype(unhook)>(&run.evaluator, unhook);
}

struct OpenedJournal {
  JournalWriter writer;
  ResumeIndex known;
  std::vector<SavedConfig> warm_starts;
  std::optional<Shard> shard;
  std::optional<Environment> began_on = {};  ///< of a run that is resumed
  std::vector<Environment> helpers = {};     ///< of the run so far
};

Result<OpenedJournal> open_journal(const SweepOptions& options, const RunPlan& plan,
                                   const Evaluator& evaluator) {
  OpenedJournal opened;
  const Environment& environment = evaluator.environment();
  if (!options.resume) {
    FATUNE_TRY(opened.writer,
               JournalWriter::create(options.out, {plan, environment, {}, evaluator.helpers()}));
    opened.warm_starts = plan.warm_starts;
    opened.shard = plan.shard;
    return opened;
  }
  FATUNE_TRY(opened.writer, JournalWriter::resume(options.out));
  FATUNE_TRY(const Journal journal, load_journal(opened.writer.path()));
  const std::string where = opened.writer.path().string();
  const std::string differs = difference(journal.header.plan, plan);
  if (!differs.empty()) {
    return usage_error("--resume: " + where + " is of another plan: " + differs +
                       "; use the same arguments, or start a new run with --out");
  }
  FATUNE_TRY_STATUS(
      check_same_device(journal.header.environment, environment, where, Reuse::kResume));
  opened.known = ResumeIndex(journal);
  opened.began_on = journal.header.environment;
  opened.helpers = journal.header.helpers;
  opened.warm_starts = journal.header.plan.warm_starts;
  opened.shard = journal.header.plan.shard;
  return opened;
}

/// What the final phases of a resumed run were measured on: where it began, or here; of several
/// GPUs none is named. A journal of before tells nothing else than where it began.
Environment measured_on(const Environment& first, const RunState& run, const SweepResult& result) {
  const Environment& here = run.evaluator.environment();
  std::set<std::string> gpus;
  for (const ProblemResult& problem : result.problems) {
    for (const FinalRecord& each : problem.finals)
      gpus.insert(each.gpu.empty() ? first.device_uuid : each.gpu);
  }
  const auto all_of = [&](const Environment& one) { return gpus == std::set{one.device_uuid}; };
  if (run.finals_here == 0 && all_of(first)) return first;
  if (all_of(here)) return here;
  if (gpus.empty()) return run.journal.has_grown() ? here : first;
  Environment several = here;
  several.device_uuid.clear();
  if (first.host != here.host) several.host.clear();
  return several;
}

/// Finds a hopeless problem before anything is measured or written.
Status check_problems(const RunPlan& plan, const std::vector<KernelRef>& kernels,
                      const DeviceLimits& limits) {
  for (const NamedProblem& problem : shard_problems(plan)) {
    ProblemResult scratch;
    scratch.problem = problem;
    FATUNE_TRY(const auto built, build_spaces(kernels, limits, scratch));
    for (const std::string& left_out : scratch.left_out) {
      log::debug(describe(problem.problem) + ": left out " + left_out);
    }
    if (plan.strategy == kKnownStrategy) continue;
    auto strategy = make_strategy(plan.strategy, built.spaces.front().lattice(), {});
    if (!strategy) return std::move(strategy).error();
  }
  return {};
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

/// What compute-sanitizer said of the winners of a run so far, by candidate: best.json alone has
/// it.
std::map<std::string, std::vector<ToolVerdict>> saved_verdicts(
    const std::filesystem::path& folder) {
  std::map<std::string, std::vector<ToolVerdict>> verdicts;
  const auto saved = load_best_file(folder);
  if (!saved) return verdicts;  // none was written, or what is there is written anew
  for (const BestProblem& problem : saved->problems) {
    if (problem.best && problem.best->verification)
      verdicts[problem.best->id] = problem.best->verification->sanitizer;
  }
  return verdicts;
}

/// Writes best.json after each problem. Both hold all problems so far: of thousands that take
/// milliseconds each, most of the time would be spent on writing.
class Saver {
 public:
  Saver(const RunState& run, SweepResult& result) : run_(run), result_(result) {
    if (!run.options.resume) return;
    verdicts_ = saved_verdicts(run.options.out);
    const std::vector<NamedProblem> problems = shard_problems(result.plan);
    for (std::size_t i = 0; i < problems.size(); ++i) {
      if (!run.known.finals(problems[i].problem).empty()) published_ = i + 1;
    }
  }

  /// Not before it has all that the run had published: it may be killed meanwhile.
  Status save_in_time() { return !is_whole() || Clock::now() < next_ ? Status() : save(); }
  bool is_whole() const { return result_.problems.size() >= published_; }
  Status save() {
    const Clock::time_point begin = Clock::now();
    if (run_.began_on) result_.environment = measured_on(*run_.began_on, run_, result_);
    for (ProblemResult& problem : result_.problems) keep_verdict(problem);
    FATUNE_TRY_STATUS(save_best(result_));
    FATUNE_TRY_STATUS(save_suite(result_, run_.options.date));
    saved_ = result_.problems.size();
    next_ = Clock::now() + kLeastShare * (Clock::now() - begin);
    return {};
  }
  Status save_the_last() { return saved_ == result_.problems.size() ? Status() : save(); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kLeastShare = 20;  ///< of other work, to one of writing; chosen

  void keep_verdict(ProblemResult& problem) const {
    if (problem.best() == nullptr) return;
    FinalRecord& best = problem.finals.front();
    const auto verdict = verdicts_.find(best.id);
    if (verdict != verdicts_.end() && best.verification)
      take_verdicts(verdict->second, *best.verification);
  }

  const RunState& run_;
  SweepResult& result_;
  std::map<std::string, std::vector<ToolVerdict>> verdicts_;  ///< of a run that is resumed
  std::size_t published_ = 0;  ///< problems, to the last one that a resumed run had settled
  std::size_t saved_ = 0;      ///< problems
  Clock::time_point next_{};
};

/// While there is time to mend it: each baseline once, of a run that has problems left.
void warn_of_absent(const ProblemResult& problem, std::size_t left, std::set<std::string>& said) {
  for (const FinalRecord& each : problem.finals) {
    const bool absent = each.is_baseline() && each.outcome == Outcome::kUnavailable;
    if (!absent || left == 0 || !said.insert(each.impl).second) continue;
    log::warn(fmt::format("{} is not there, nor will it be for the {} left: {}", each.impl,
                          counted(left, "problem"), first_line(each.reason)));
  }
}

/// Of the problems that a resumed run did not come to, what its journal has: it stays published.
Status keep_the_rest(const SavedConfigs& known, RunState& run, SweepResult& result) {
  const std::vector<NamedProblem> problems = shard_problems(result.plan);
  for (std::size_t i = result.problems.size(); i < problems.size(); ++i) {
    if (run.known.finals(problems[i].problem).empty()) continue;
    FATUNE_TRY(result.problems.emplace_back(), sweep_problem(problems[i], known, run));
  }
  return {};
}

/// Each problem for itself; the best of one may start the search of the next, but not in a shard:
/// which problems are beside it there depends on the number of shards.
Status sweep_problems(RunState& run, SweepResult& result) {
  SavedConfigs known = result.plan.warm_starts;
  Saver saver(run, result);
  const std::vector<NamedProblem> problems = shard_problems(result.plan);
  std::set<std::string> absent;
  Status failure;
  for (const NamedProblem& problem : problems) {
    auto swept = sweep_problem(problem, known, run);
    if (!swept) {
      failure = with_context(std::move(swept).error(), "sweeping " + describe(problem.problem));
      run.failed = true;
      break;
    }
    result.problems.push_back(*std::move(swept));
    result.seconds = run.clock.now();
    warn_of_absent(result.problems.back(), problems.size() - result.problems.size(), absent);
    FATUNE_TRY_STATUS(saver.save_in_time());
    const FinalRecord* best = result.problems.back().best();
    if (best != nullptr && !result.plan.shard) {
      known.push_back({best->kernel, best->config, problem.problem, problem.name,
                       result.environment.limits.arch, "this run"});
    }
    if (run.interrupted) break;
  }
  if (Status kept = keep_the_rest(known, run, result); failure && !kept) failure = kept;
  const Status saved = saver.save_the_last();
  return failure ? saved : failure;
}

/// With --finals a search that was cut off ends where it was, but one that never began has not.
bool all_were_searched(const SweepResult& result) {
  return std::ranges::none_of(
      result.problems, [](const ProblemResult& problem) { return problem.candidates.empty(); });
}

}  // namespace

Result<SweepResult> run_sweep(const SweepOptions& options, const std::vector<KernelRef>& kernels,
                              const KernelRef& reference, Evaluator& evaluator) {
  SweepResult result;
  result.plan = complete_plan(options.plan, kernels);
  result.environment = evaluator.environment();
  result.folder = options.out;
  FATUNE_TRY_STATUS(check_objective(result.plan.objective));
  FATUNE_TRY_STATUS(check_problems(result.plan, kernels, result.environment.limits));
  const Arch& arch = result.environment.limits.arch;
  result.plan.warm_starts = select_warm_starts(options.known, result.plan, arch);
  complete_configs(kernels, result.plan.warm_starts);
  if (result.plan.shard) result.plan.shard->plan = plan_hash(result.plan);
  FATUNE_TRY(OpenedJournal opened, open_journal(options, result.plan, evaluator));
  result.helpers = std::move(opened.helpers);
  add_helpers(evaluator.helpers(), result.helpers);
  result.plan.warm_starts = std::move(opened.warm_starts);
  result.plan.shard = std::move(opened.shard);

  const double journalled_s = opened.known.last_at_s();
  const bool was_complete = opened.known.complete();
  RunState run{.options = options,
               .plan = result.plan,
               .kernels = kernels,
               .baseline = options.reference_is_baseline ? reference : nullptr,
               .evaluator = evaluator,
               .journal = std::move(opened.writer),
               .known = std::move(opened.known),
               .clock = RunClock(options.clock, journalled_s),
               .progress = ProgressTracker(options.on_progress, shard_problems(result.plan).size()),
               .began_on = std::move(opened.began_on)};
  const auto hooked = hook(run);
  FATUNE_TRY_STATUS(sweep_problems(run, result));
  result.interrupted = run.interrupted;
  result.seconds = run.clock.now();
  if (!was_complete || run.journal.has_grown()) {
    const bool complete = !run.interrupted && (was_complete || all_were_searched(result));
    const EndRecord end{complete ? "complete" : "interrupted", result.seconds};
    FATUNE_TRY_STATUS(run.journal.append(end));
  }
  return result;
}

}  // namespace fatune
