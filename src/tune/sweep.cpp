// sweep.cpp - opens or resumes a run, sweeps its problems, writes best.json after each.
#include "tune/sweep.hpp"

#include <nlohmann/json.hpp>

#include "base/log.hpp"
#include "search/strategy.hpp"
#include "tune/problem_sweep.hpp"
#include "tune/suite_result.hpp"

namespace fatune {
namespace {

/// Lets the evaluator report to a run, for as long as the run lives.
class Hooks {
 public:
  explicit Hooks(RunState& run) : evaluator_(run.evaluator) {
    evaluator_.on_start = [&run](const StartedRecord& started) {
      run.started.insert(started.key);
      return run.journal.append(started);
    };
    evaluator_.on_progress = [&run](std::string_view phase) {
      run.progress.activity(phase, run.clock.now());
    };
  }
  ~Hooks() {
    evaluator_.on_start = nullptr;
    evaluator_.on_progress = nullptr;
  }
  Hooks(const Hooks&) = delete;
  Hooks& operator=(const Hooks&) = delete;

 private:
  Evaluator& evaluator_;
};

/// Measurements of two devices do not belong in one journal; other compilers or drivers are worth a
/// warning.
Status check_same_device(const Environment& journalled, const Environment& present,
                         const std::string& where) {
  const auto described = [](const Environment& environment) {
    return environment.device_name + " (" + name(environment.limits.arch) +
           (environment.recorded ? ", recorded)" : ")");
  };
  if (described(journalled) != described(present)) {
    return usage_error("--resume: " + where + " was measured on " + described(journalled) +
                       ", this is " + described(present) + "; start a new run with --out");
  }
  if (journalled.driver != present.driver || journalled.nvrtc != present.nvrtc) {
    log::warn(where + " was begun with driver " + journalled.driver + " and NVRTC " +
              journalled.nvrtc + ", now they are " + present.driver + " and " + present.nvrtc);
  }
  return {};
}

struct OpenedJournal {
  JournalWriter writer;
  ResumeIndex known;
};

Result<OpenedJournal> open_journal(const SweepOptions& options, const RunPlan& plan,
                                   const Environment& environment) {
  OpenedJournal opened;
  if (!options.resume) {
    FATUNE_TRY(opened.writer, JournalWriter::create(options.out, {plan, environment}));
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
  FATUNE_TRY_STATUS(check_same_device(journal.header.environment, environment, where));
  opened.known = ResumeIndex(journal);
  return opened;
}

/// Finds a hopeless problem before anything is measured or written.
Status check_problems(const RunPlan& plan, const std::vector<KernelRef>& kernels,
                      const DeviceLimits& limits) {
  for (const NamedProblem& problem : plan.problems) {
    ProblemResult scratch;
    scratch.problem = problem;
    FATUNE_TRY(const auto built, build_spaces(kernels, limits, scratch));
    for (const std::string& left_out : scratch.left_out) {
      log::debug(describe(problem.problem) + ": left out " + left_out);
    }
    auto strategy = make_strategy(plan.strategy, built.spaces.front(), {});
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

Status sweep_problems(const SweepOptions& options, const std::vector<KernelRef>& kernels,
                      const KernelRef& reference, RunState& run, SweepResult& result) {
  std::map<std::string, std::vector<Json>> known_good;
  for (const NamedProblem& problem : result.plan.problems) {
    const ProblemRequest request{
        result.plan,       problem,
        kernels,           options.reference_is_baseline ? reference : nullptr,
        options.finalists, options.finals,
        options.baselines, options.count_use,
        known_good};
    auto swept = sweep_problem(request, run);
    if (!swept)
      return with_context(std::move(swept).error(), "sweeping " + describe(problem.problem));
    result.problems.push_back(*std::move(swept));
    result.seconds = run.clock.now();
    FATUNE_TRY_STATUS(save_best(result));
    FATUNE_TRY_STATUS(save_suite(result, options.date));
    if (const FinalRecord* best = result.problems.back().best()) {
      known_good[best->kernel].push_back(best->config);
    }
    if (run.interrupted) break;
  }
  return {};
}

}  // namespace

Result<SweepResult> run_sweep(const SweepOptions& options, const std::vector<KernelRef>& kernels,
                              const KernelRef& reference, Evaluator& evaluator) {
  SweepResult result;
  result.plan = complete_plan(options.plan, kernels);
  result.environment = evaluator.environment();
  result.folder = options.out;
  const bool scored = result.plan.objective == kScoreObjective;
  FATUNE_TRY(const Objective objective, parse_objective(scored ? "hot" : result.plan.objective));
  FATUNE_TRY_STATUS(check_problems(result.plan, kernels, result.environment.limits));
  FATUNE_TRY(OpenedJournal opened, open_journal(options, result.plan, result.environment));

  EvaluationPlan plan;
  plan.objective = objective;
  plan.checks = result.plan.skip_correctness ? Checks::kSkipCorrectness : Checks::kAll;
  plan.record_cold = result.plan.record_cold;
  plan.seed = result.plan.seed;
  const double journalled_s = opened.known.last_at_s();
  const bool was_complete = opened.known.complete();
  RunState run{evaluator,
               kernels,
               std::move(opened.writer),
               std::move(opened.known),
               RunClock(options.clock, journalled_s),
               ProgressTracker(options.on_progress, result.plan.problems.size()),
               plan,
               result.plan.objective,
               {},
               {},
               false};
  const Hooks hooks(run);
  FATUNE_TRY_STATUS(sweep_problems(options, kernels, reference, run, result));
  result.interrupted = run.interrupted;
  result.seconds = run.clock.now();
  if (!was_complete) {
    const EndRecord end{run.interrupted ? "interrupted" : "complete", result.seconds};
    FATUNE_TRY_STATUS(run.journal.append(end));
  }
  return result;
}

}  // namespace fatune
