// cmd_sweep.cpp - plans, opens a device, runs the sweep, and prints what it found.
#include "cli/commands/cmd_sweep.hpp"

#include <chrono>
#include <ctime>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/compile_only.hpp"
#include "cli/commands/count_use.hpp"
#include "cli/commands/live_progress.hpp"
#include "cli/commands/sanitize.hpp"
#include "cli/exit_code.hpp"
#include "cli/options/baselines.hpp"
#include "cli/options/catalog.hpp"
#include "cli/options/device_choice.hpp"
#include "cli/options/imports.hpp"
#include "cli/options/problems.hpp"
#include "cli/options/sweep_plan.hpp"
#include "cli/options/today.hpp"
#include "cli/options/warm_starts.hpp"
#include "cli/options/with_settings.hpp"
#include "cli/output.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "out/page/live_server.hpp"
#include "out/text/sweep_report.hpp"
#include "search/strategies/strategy.hpp"
#include "tune/sweep/best.hpp"
#include "tune/sweep/sweep.hpp"

namespace fatune::cli {
namespace {

/// A sweep with every flag resolved.
struct ReadySweep {
  SweepOptions options;
  std::vector<KernelRef> kernels;
  std::vector<KernelRef> catalog;  ///< all kernels at hand
  KernelRef reference;
  DeviceChoice device;
  std::size_t jobs = 0;
  std::vector<Recording> imports;
  bool sanitize = false;
  std::optional<int> serve;  ///< a port
};

/// runs/20260131-174500-4-8-512-64-f16
std::filesystem::path default_folder(const std::string& problem) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &local);
  return std::filesystem::path("runs") / (std::string(text, length) + "-" + problem);
}

/// A resumed run's plan is the journal's. What is typed beside --resume takes its place there:
/// where it says otherwise, run_sweep refuses it.
Result<RunPlan> resumed_plan(const SweepArgs& args, const std::vector<KernelRef>& catalog) {
  FATUNE_TRY_STATUS(refuse_companions(args.problem, "--resume " + args.resume));
  FATUNE_TRY(Journal journal, load_journal(std::filesystem::path(args.resume) / "journal.jsonl"));
  RunPlan plan = std::move(journal.header.plan);
  FATUNE_TRY(const auto kernels,
             choose_kernels(catalog, args.kernels.empty() ? plan.kernels : args.kernels));
  FATUNE_TRY(RunPlan typed, resolve_plan(args, plan.problems, kernels));
  const SweepArgs usual;
  plan.kernels = typed.kernels;
  if (args.strategy != usual.strategy) plan.strategy = typed.strategy;
  if (args.one_lever) plan.one_lever = true;
  if (args.objective != usual.objective) plan.objective = typed.objective;
  if (args.seed != usual.seed) plan.seed = typed.seed;
  if (!args.budget.empty()) {
    plan.budget_evaluations = typed.budget_evaluations;
    plan.budget_seconds = typed.budget_seconds;
  }
  if (args.one_config || !args.portfolio.empty()) plan.configs = typed.configs;
  if (args.skip_correctness) plan.skip_correctness = true;
  if (args.record_cold) plan.record_cold = true;
  if (args.baselines != usual.baselines) plan.baselines = typed.baselines;
  return plan;
}

Result<RunPlan> plan_of(const SweepArgs& args, const std::vector<KernelRef>& catalog) {
  if (!args.resume.empty() && !names_problem(args.problem)) return resumed_plan(args, catalog);
  FATUNE_TRY(const auto kernels, choose_kernels(catalog, args.kernels));
  FATUNE_TRY(const OperationRef operation, operation_of(kernels));
  FATUNE_TRY(const auto problems, resolve_problems(args.problem, operation));
  if (!operation || args.baselines != SweepArgs().baselines)
    return resolve_plan(args, problems, kernels);
  FATUNE_TRY(const KernelRef reference, reference_kernel(catalog, operation));
  SweepArgs own = args;
  own.baselines = reference->manifest.name;  // of attention's, none computes this
  return resolve_plan(own, problems, kernels);
}

Result<ReadySweep> make_ready(const SweepArgs& args, const std::vector<KernelRef>& catalog,
                              const Settings& settings) {
  if (!args.resume.empty() && !args.out.empty())
    return usage_error("--resume and --out exclude each other");
  ReadySweep ready;
  FATUNE_TRY(ready.options.plan, plan_of(args, catalog));
  ready.catalog = catalog;
  FATUNE_TRY(ready.kernels, choose_kernels(catalog, ready.options.plan.kernels));
  FATUNE_TRY(const OperationRef operation, operation_of(ready.kernels));
  FATUNE_TRY(ready.jobs, parse_jobs(args.jobs));
  ready.options.resume = !args.resume.empty();
  ready.options.out = !args.resume.empty() ? std::filesystem::path(args.resume)
                      : !args.out.empty()
                          ? std::filesystem::path(args.out)
                          : default_folder(slug(ready.options.plan.problems.front().problem));
  ready.options.finals.seed = ready.options.plan.seed;
  ready.options.date = today();
  if (args.no_warm_start && !args.warm.empty())
    return usage_error("--warm and --no-warm-start exclude each other");
  if (!args.no_warm_start && !ready.options.resume) {
    FATUNE_TRY(ready.options.known, known_configs(args.warm, ready.options.out, catalog));
  }
  if (ready.options.resume && !args.imports.empty())
    return usage_error("--resume goes on as the run began; --import is for new runs");
  FATUNE_TRY(ready.imports, read_imports(args.imports));
  if (args.compile_only) return ready;
  const std::vector<std::string>& baselines = ready.options.plan.baselines;
  FATUNE_TRY(ready.reference, reference_kernel(catalog, operation));
  ready.options.reference_is_baseline = names_reference(baselines, ready.reference);
  FATUNE_TRY(ready.options.baselines,
             make_baselines(baselines, ready.reference, catalog, settings));
  FATUNE_TRY(ready.device, choose_device(args.device));
  ready.sanitize = args.sanitize;
  FATUNE_TRY(ready.serve, parse_serve(args.serve));
  return ready;
}

int print_result(const SweepResult& result, const std::string& notice, const Settings& settings) {
  bool found = false;
  for (const ProblemResult& problem : result.problems) found = found || problem.best() != nullptr;
  if (settings.json) {
    print_json(best_json(result));
  } else {
    print(sweep_report(result, settings.paint));
    if (!notice.empty()) print(notice);
  }
  if (result.interrupted) {
    log::warn("interrupted; continue with: fatune sweep --resume " +
              shell_word(result.folder.string()));
    return kInterrupted;
  }
  if (!found)
    log::error("no candidate passed every gate; the table above says what became of them");
  return found ? kDone : kAnswerIsNo;
}

/// Runs the winners under compute-sanitizer and writes what it says into best.json.
Status sanitize_winners(const ReadySweep& ready, const DeviceLimits& limits,
                        const Settings& settings, SweepResult& result) {
  for (ProblemResult& problem : result.problems) {
    const FinalRecord* best = problem.best();
    if (best == nullptr) continue;
    FinalRecord& record = problem.finals[static_cast<std::size_t>(best - problem.finals.data())];
    if (record.kernel.empty() || !record.verification) continue;
    FATUNE_TRY(const KernelRef kernel, find_kernel(ready.kernels, record.kernel));
    FATUNE_TRY(Config config, config_from_json(kernel->manifest, record.config, "the winner"));
    FATUNE_TRY(record.verification->sanitizer, sanitize({kernel, std::move(config), record.problem},
                                                        limits, ready.device, settings));
  }
  return save_best(result);
}

/// Runs the sweep with its progress on stderr and, with --serve, on a page.
Result<SweepResult> run_watched(ReadySweep& ready, Evaluator& evaluator, LiveServer* server,
                                const Settings& settings) {
  LiveProgress progress(settings);
  ready.options.on_progress = [&](const SweepProgress& now) {
    progress.show(now);
    if (server != nullptr) server->show(now);
  };
  auto result = run_sweep(ready.options, ready.kernels, ready.reference, evaluator);
  ready.options.on_progress = nullptr;
  if (server != nullptr) server->finish();
  return result;
}

Result<int> run_ready(ReadySweep ready, const Settings& settings) {
  std::unique_ptr<LiveServer> server;
  if (ready.serve) {
    FATUNE_TRY(server, LiveServer::start(*ready.serve, ready.options.out));
    log::info("live at " + server->url() + " until the sweep ends");
  }
  FATUNE_TRY(auto evaluator,
             open_evaluator({ready.device, ready.reference, ready.options.out, ready.jobs,
                             ready.options.plan.problems, ready.catalog},
                            settings));
  const std::string notice = recorded_notice(ready.device, evaluator->environment());
  if (!notice.empty()) settings.json ? log::info(notice) : print(notice);
  if (ready.options.plan.objective == kScoreObjective) {
    const DeviceLimits& limits = evaluator->environment().limits;
    ready.options.count_use = make_count_use(ready.device, limits, settings);
  }
  std::vector<KnownConfig>& known = ready.options.known;
  const auto imported = import_known(ready.imports, ready.kernels, ready.options.plan.problems,
                                     evaluator->environment().limits.arch);
  known.insert(known.begin(), imported.begin(), imported.end());
  auto result = run_watched(ready, *evaluator, server.get(), settings);
  if (!result) return std::move(result).error();
  if (ready.sanitize) {
    const DeviceLimits& limits = evaluator->environment().limits;
    FATUNE_TRY_STATUS(sanitize_winners(ready, limits, settings, *result));
  }
  return print_result(*result, notice, settings);
}

Result<int> sweep(const SweepArgs& args, const Settings& settings) {
  FATUNE_TRY(const auto catalog, load_catalog(settings));
  FATUNE_TRY(ReadySweep ready, make_ready(args, catalog, settings));
  if (!args.arch.empty() && !args.compile_only)
    return usage_error("--arch goes with --compile-only; a GPU knows its own");
  if (args.serve && args.compile_only)
    return usage_error("--serve shows a search; --compile-only does none");
  if (args.compile_only && ready.options.plan.budget_seconds)
    return usage_error("--compile-only compiles a number of configs; --budget is a time here");
  if (args.compile_only) {
    return compile_only({args.arch.empty() ? "sm_90a" : args.arch, ready.jobs}, ready.options.plan,
                        ready.kernels, settings);
  }
  return run_ready(std::move(ready), settings);
}

int run(const SweepArgs& args) {
  return with_settings(args.common,
                       [&](const Settings& settings) { return sweep(args, settings); });
}

std::string strategy_help() {
  std::string text = "How to search:";
  for (const StrategyInfo& info : strategies())
    text += "\n" + std::string(info.name) + ": " + std::string(info.summary);
  return text;
}

void add_search_options(CLI::App& command, SweepArgs& args) {
  command
      .add_option("--kernel", args.kernels,
                  "Kernels to tune, comma-separated [those tuned by default]")
      ->type_name("KERNEL,...");
  command.add_option("--strategy", args.strategy, strategy_help())
      ->type_name("STRATEGY")
      ->capture_default_str();
  command.add_flag("--one-lever", args.one_lever,
                   "Each move changes exactly one parameter (evo, ga)");
  command
      .add_option(
          "--budget", args.budget,
          "For each problem: candidates (150) or time (60s, 5m) [150; everything if exhaustive]")
      ->type_name("N");
  command
      .add_option("--objective", args.objective,
                  "hot or cold latency, or score: hot, then speed and use of the device")
      ->type_name("hot|cold|score")
      ->capture_default_str();
  command
      .add_option("--baselines", args.baselines,
                  "Implementations measured beside the winners; none for none")
      ->type_name("IMPL,...")
      ->capture_default_str();
  command.add_flag("--per-problem", args.per_problem,
                   "Each problem has its own config; so it is without the next two");
  command.add_flag("--one-config", args.one_config,
                   "One config for all problems: the greatest geomean speed-up over the default");
  command
      .add_option("--portfolio", args.portfolio,
                  "The K configs that together serve all problems best")
      ->type_name("K");
  command
      .add_option("--warm", args.warm,
                  "Start from the best configs of this best.json, journal or run's folder too "
                  "(repeatable)")
      ->type_name("PATH");
  command
      .add_option("--import", args.imports,
                  "Start from the best configs of another tuner's results, where they map: a "
                  "Kernel Tuner cache, T4 or KTT results, a journal (repeatable)")
      ->type_name("FILE");
  command.add_flag("--no-warm-start", args.no_warm_start,
                   "Do not start from configs that were best elsewhere: earlier runs beside this "
                   "one, and those that ship with fatune");
  command.add_option("--seed", args.seed, "Seed of the search, the inputs and the final rounds")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--jobs", args.jobs, "Compile processes [cores, at most 16]")->type_name("N");
}

void add_run_options(CLI::App& command, SweepArgs& args) {
  command.add_option("--out", args.out, "Folder of the run [runs/DATE-TIME-PROBLEM]")
      ->type_name("DIR");
  command.add_option("--resume", args.resume, "Continue the run in this folder; repeats nothing")
      ->type_name("DIR");
  command.add_flag("--compile-only", args.compile_only,
                   "Compile, show resources, run nothing; needs no GPU");
  command.add_option("--arch", args.arch, "Architecture for --compile-only [sm_90a]")
      ->type_name("sm_XX");
  command.add_flag("--record-cold", args.record_cold,
                   "Measure every candidate cold too, not only finalists");
  command
      .add_option_function<std::string>(
          "--serve", [&args](const std::string& port) { args.serve = port; },
          "Show the search as a page while it runs, on 127.0.0.1 only: at this port [8712]; 0: any "
          "that is free")
      ->expected(0, 1)
      ->type_name("[PORT]");
  command.add_flag("--sanitize", args.sanitize,
                   "Run the winner under compute-sanitizer; best.json has what it says");
  command.add_flag("--skip-correctness", args.skip_correctness,
                   "Do not check results; every output is marked with it");
}

}  // namespace

Runner setup_sweep(CLI::App& command) {
  auto args = std::make_shared<SweepArgs>();
  add_problem_options(command, args->problem);
  add_search_options(command, *args);
  add_device_option(command, args->device);
  add_run_options(command, *args);
  add_common_options(command, args->common);
  add_example(command, "fatune sweep --shape 4,8,512,64");
  return [args] { return run(*args); };
}

}  // namespace fatune::cli
