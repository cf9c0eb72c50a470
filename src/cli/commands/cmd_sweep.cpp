// cmd_sweep.cpp - plans, opens a device, runs the sweep, and prints what it found.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/commands/suite_parts.hpp"
#include "cli/commands/sweep_on_devices.hpp"
#include "cli/commands/sweep_on_ranks.hpp"
#include "cli/commands/tools.hpp"
#include "cli/options/catalog.hpp"
#include "cli/options/imports.hpp"
#include "cli/options/problems.hpp"
#include "cli/options/ranks.hpp"
#include "cli/options/session.hpp"
#include "cli/options/sweep_plan.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "out/page/live_server.hpp"
#include "out/text/progress.hpp"
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
  OpenRequest device;
  std::vector<Recording> imports;
  bool sanitize = false;
  std::optional<int> serve;  ///< a port
  bool names_folder = true;  ///< else options.out is to be made
  std::string device_words;  ///< " --device recorded:FILE"; empty where none was typed
};

/// runs/20260131-174500-4-8-512-64-f16, of a shard with "-shard-2-of-4"
std::string default_folder(const RunPlan& plan) {
  std::string folder = "runs/" + local_time("%Y%m%d-%H%M%S-") + slug(plan.problems.front().problem);
  if (plan.shard) folder += fmt::format("-shard-{}-of-{}", plan.shard->number, plan.shard->of);
  return folder;
}

/// "shard 2/4: 2 of 12 problems: long 1,8,4096,64 f16; small 2,8,128,64 f16"
std::string shard_notice(const RunPlan& plan) {
  std::vector<std::string> labels;
  for (const NamedProblem& named : shard_problems(plan)) labels.push_back(label(named));
  return fmt::format("shard {}: {} of {} problems: {}", describe(*plan.shard), labels.size(),
                     plan.problems.size(), join(labels, "; "));
}

/// --size without --kernel: every kernel at hand of a custom operation.
std::vector<std::string> named_kernels(const SweepArgs& args,
                                       const std::vector<KernelRef>& catalog) {
  std::vector<std::string> names = args.kernels;
  if (!names.empty() || args.problem.sizes.empty()) return names;
  for (const KernelRef& kernel : catalog) {
    const Manifest& manifest = kernel->manifest;
    const bool custom = manifest.operation->declared() != nullptr;
    if (custom && manifest.role == Role::kAttention) names.push_back(manifest.name);
  }
  return names;
}

Result<RunPlan> plan_of(const SweepArgs& args, const std::vector<KernelRef>& catalog) {
  RunPlan recorded;
  const bool resuming = !args.resume.empty();
  if (resuming) {
    FATUNE_TRY_STATUS(refuse_new_run_options(args));
    FATUNE_TRY(Journal journal, load_journal(std::filesystem::path(args.resume) / "journal.jsonl"));
    recorded = std::move(journal.header.plan);
  }
  const auto names = named_kernels(args, catalog);
  const bool recorded_kernels = resuming && names.empty();
  FATUNE_TRY(const auto kernels,
             choose_kernels(catalog, recorded_kernels ? recorded.kernels : names));
  FATUNE_TRY(const OperationRef operation, operation_of(kernels));
  std::vector<NamedProblem> problems = recorded.problems;
  if (resuming && !names_problem(args.problem)) {
    FATUNE_TRY_STATUS(refuse_companions(args.problem, "--resume " + args.resume));
  } else {
    FATUNE_TRY(problems, resolve_problems(args.problem, operation));
  }
  SweepArgs chosen = args;
  if (operation->declared() != nullptr && args.common.typed.count("--baselines") == 0) {
    FATUNE_TRY(const KernelRef reference, reference_kernel(catalog, operation));
    chosen.baselines = reference->manifest.name;  // of attention's, none computes this
  }
  const bool by_default = names.empty() && !recorded_kernels;
  FATUNE_TRY(RunPlan typed,
             resolve_plan(chosen, problems, by_default ? of_types(kernels, problems) : kernels));
  return resuming ? resumed_plan(args, std::move(recorded), typed) : typed;
}

/// Of `devices` the first is home.
Result<ReadySweep> make_ready(const std::vector<std::string>& devices, const SweepArgs& args,
                              const std::vector<KernelRef>& catalog, const Settings& settings) {
  ReadySweep ready;
  FATUNE_TRY(ready.options.plan, plan_of(args, catalog));
  FATUNE_TRY(ready.kernels, choose_kernels(catalog, ready.options.plan.kernels));
  FATUNE_TRY(const OperationRef operation, operation_of(ready.kernels));
  FATUNE_TRY(ready.device.jobs, parse_jobs(args.jobs));
  ready.options.resume = !args.resume.empty();
  ready.options.finals_only = args.finals;
  if (args.finals && (!ready.options.resume || ready.options.plan.configs > 0)) {
    return usage_error(
        "--finals is of a run that --resume names, whose problems have configs of their own");
  }
  ready.options.out = !args.resume.empty() ? args.resume
                      : !args.out.empty()  ? args.out
                                           : default_folder(ready.options.plan);
  ready.names_folder = ready.options.resume || !args.out.empty();
  ready.options.finals.seed = ready.options.plan.seed;
  ready.options.date = local_time();
  if (args.no_warm_start && !args.warm.empty())
    return usage_error("--warm and --no-warm-start exclude each other");
  if (!args.no_warm_start && !ready.options.resume) {
    // Which runs lie beside a shard's is a matter of time and host.
    const bool alone = ready.options.plan.shard.has_value();
    FATUNE_TRY(ready.options.known, known_configs(args.warm, alone ? "" : ready.options.out));
  }
  FATUNE_TRY(ready.imports, read_imports(args.imports));
  if (args.compile_only) return ready;
  const std::vector<std::string>& baselines = ready.options.plan.baselines;
  FATUNE_TRY(const KernelRef reference, reference_kernel(catalog, operation));
  ready.options.reference_is_baseline = names_reference(baselines, reference);
  FATUNE_TRY(ready.options.baselines, make_baselines(baselines, reference, catalog, settings));
  std::vector<DeviceChoice> choices;
  for (const std::string& device : devices) {
    FATUNE_TRY(const DeviceChoice choice, choose_device(device));
    choices.push_back(choice);
  }
  // One problem on several GPUs: compilers for each of them.
  if (ready.device.jobs == 0 && devices.size() > 1) {
    FATUNE_TRY(const std::size_t each,
               jobs_of_each(args, devices.size(), std::thread::hardware_concurrency()));
    ready.device.jobs = each * devices.size();
  }
  ready.device = {choices.front(),
                  reference,
                  ready.options.out,
                  ready.device.jobs,
                  shard_problems(ready.options.plan),
                  catalog,
                  {choices.begin() + 1, choices.end()}};
  if (args.common.typed.count("--device") > 0)
    ready.device_words = " --device " + shell_word(args.device);
  ready.sanitize = args.sanitize;
  FATUNE_TRY(ready.serve, parse_serve(args.serve));
  return ready;
}

/// Says of each winner that a tool failed that it did.
bool all_are_sound(const SweepResult& result) {
  bool sound = true;
  for (const ProblemResult& problem : result.problems) {
    const FinalRecord* best = problem.best();
    if (best == nullptr || !best->verification) continue;
    const std::string failed = failed_tool(*best->verification);
    if (failed.empty()) continue;
    sound = false;
    log::error("the winner of " + label(problem.problem) + " is not to be used: " + failed);
  }
  return sound;
}

int print_result(const ReadySweep& ready, const SweepResult& result, const std::string& notice,
                 const Settings& settings) {
  const bool found = std::any_of(result.problems.begin(), result.problems.end(),
                                 [](const ProblemResult& each) { return each.best() != nullptr; });
  const std::string lines = join(wrap(notice, settings.paint.columns()), "\n");
  print(settings.json ? dump_pretty(best_json(result))
                      : between_notices(lines, sweep_report(result, settings.paint) +
                                                   (lines.empty() ? "" : "\n")));
  if (result.interrupted) {
    log::warn("interrupted; continue with: fatune sweep --resume " +
              shell_word(result.folder.string()) + ready.device_words);
    return kInterrupted;
  }
  if (!found) {
    log::error(result.environment.recorded
                   ? "the recording holds no measured candidate of these kernels for this problem"
                   : "no candidate passed every gate; the table above says what became of them");
  }
  return found && all_are_sound(result) ? kDone : kAnswerIsNo;
}

/// Runs the winners under compute-sanitizer and writes what it says into best.json. A winner that a
/// tool fails stays the best that was found, and is no longer verified.
Status sanitize_winners(const ReadySweep& ready, const DeviceLimits& limits,
                        const Settings& settings, SweepResult& result) {
  for (ProblemResult& problem : result.problems) {
    const FinalRecord* best = problem.best();
    if (best == nullptr) continue;
    FinalRecord& record = problem.finals[static_cast<std::size_t>(best - problem.finals.data())];
    if (record.kernel.empty() || !record.verification) continue;
    FATUNE_TRY(const KernelRef kernel, find_kernel(ready.kernels, record.kernel));
    FATUNE_TRY(Config config, config_from_json(kernel->manifest, record.config, "the winner"));
    FATUNE_TRY(auto verdicts, sanitize({kernel, std::move(config), record.problem}, limits,
                                       ready.device.device, settings));
    take_verdicts(std::move(verdicts), *record.verification);
  }
  return save_best(result);
}

constexpr std::size_t kColumnsUnknown = 100;

/// Silent with --quiet, redrawn in place on a terminal, a plain line now and then elsewhere.
class LiveProgress {
 public:
  explicit LiveProgress(const Settings& settings) {
    if (settings.quiet) return;
    display_.emplace(
        std::cerr, settings.live ? ProgressStyle::kLive : ProgressStyle::kPlain,
        [] { return terminal_columns(STDERR_FILENO, kColumnsUnknown); }, settings.live_paint);
    log::set_interlude([this] { display_->clear(); }, [this] { display_->draw(); });
  }
  ~LiveProgress() {
    if (!display_) return;
    log::set_interlude(nullptr, nullptr);
    display_->clear();
  }
  LiveProgress(const LiveProgress&) = delete;
  LiveProgress& operator=(const LiveProgress&) = delete;
  void show(const SweepProgress& progress) {
    if (display_) display_->show(progress);
  }

 private:
  std::optional<ProgressDisplay> display_;
};

/// Runs the sweep with its progress on stderr and, with --serve, on a page.
Result<SweepResult> run_watched(ReadySweep& ready, Evaluator& evaluator, LiveServer* server,
                                const Settings& settings) {
  LiveProgress progress(settings);
  ready.options.on_progress = [&](const SweepProgress& now) {
    progress.show(now);
    if (server != nullptr) server->show(now);
  };
  auto result = run_sweep(ready.options, ready.kernels, ready.device.reference, evaluator);
  ready.options.on_progress = nullptr;
  if (server != nullptr) server->finish();
  return result;
}

Result<int> run_ready(ReadySweep& ready, const Settings& settings) {
  if (!ready.names_folder) {
    FATUNE_TRY(ready.options.out, make_run_folder(ready.options.out));
    ready.device.log_folder = ready.options.out;
  }
  std::unique_ptr<LiveServer> server;
  if (ready.serve) {
    FATUNE_TRY(server, LiveServer::start(*ready.serve, ready.options.out));
    log::info(fmt::format("live at {} until the sweep ends; from another machine: ssh -L {}",
                          server->url(), server->forward()));
  }
  FATUNE_TRY(auto evaluator, open_evaluator(ready.device, settings));
  const DeviceLimits limits = evaluator->environment().limits;
  const std::string notice = recorded_notice(ready.device.device, evaluator->environment());
  if (!notice.empty() && settings.json) log::info(notice);
  if (ready.options.plan.objective == kScoreObjective)
    ready.options.count_use = make_count_use(ready.device.device, limits, settings);
  std::vector<SavedConfig>& known = ready.options.known;
  const auto imported =
      import_known(ready.imports, ready.kernels, ready.options.plan.problems, limits.arch);
  known.insert(known.begin(), imported.begin(), imported.end());
  if (!ready.options.resume) {
    const std::string said = known_notice(ready.options.plan, known, limits.arch);
    if (!said.empty()) log::info(said);
  }
  if (ready.options.plan.shard) log::info(shard_notice(ready.options.plan));
  auto result = run_watched(ready, *evaluator, server.get(), settings);
  if (!result) return std::move(result).error();
  if (ready.sanitize) FATUNE_TRY_STATUS(sanitize_winners(ready, limits, settings, *result));
  return print_result(ready, *result, notice, settings);
}

Result<PlannedSuite> plan_suite(const SweepArgs& args, const Settings& settings) {
  FATUNE_TRY(const auto catalog, load_catalog(settings));
  FATUNE_TRY(RunPlan plan, plan_of(args, catalog));
  FATUNE_TRY(const auto kernels, choose_kernels(catalog, plan.kernels));
  for (const KernelRef& kernel : kernels) plan.kernel_hashes.push_back(kernel->text_hash);
  std::string out = args.out.empty() ? default_folder(plan) : args.out;
  return PlannedSuite{std::move(plan), std::move(out)};
}

/// Of a search and a run --compile-only has only problems, kernels and the number of configs.
Status check_compile_only(const SweepArgs& args) {
  if (!args.compile_only) {
    return args.arch.empty() ? Status()
                             : usage_error("--arch goes with --compile-only; a GPU knows its own");
  }
  for (const char* flag :
       {"--baselines", "--device", "--finals", "--import", "--no-warm-start", "--objective",
        "--one-config", "--one-lever", "--out", "--portfolio", "--record-cold", "--resume",
        "--sanitize", "--shard", "--skip-correctness", "--strategy", "--warm"}) {
    if (args.common.typed.count(flag) > 0)
      return usage_error(fmt::format("--compile-only runs and writes nothing; leave out {}", flag));
  }
  if (args.serve) return usage_error("--serve shows a search; --compile-only does none");
  return {};
}

/// A sweep of one process. Of `devices` the first is home; others measure candidates beside it.
Result<int> sweep_here(const std::vector<std::string>& devices, const SweepArgs& args,
                       const Settings& settings) {
  FATUNE_TRY(const std::size_t gpus, parse_confirm_on(args.confirm_on));
  if (gpus > 1)
    return usage_error(
        fmt::format("--confirm-on {}: this sweep has one device; --device names "
                    "several (cuda:all), and mpirun starts one for each rank",
                    gpus));
  FATUNE_TRY_STATUS(check_compile_only(args));
  FATUNE_TRY(const auto catalog, load_catalog(settings));
  FATUNE_TRY(ReadySweep ready, make_ready(devices, args, catalog, settings));
  if (args.compile_only && ready.options.plan.budget_seconds)
    return usage_error("--compile-only compiles a number of configs; --budget is a time here");
  if (args.compile_only) {
    return compile_only(args.arch.empty() ? "sm_90a" : args.arch, ready.device.jobs,
                        ready.options.plan, ready.kernels, settings);
  }
  auto done = run_ready(ready, settings);
  // The folder of a run that failed before it wrote anything.
  std::error_code not_empty;
  if (!done && !ready.names_folder) std::filesystem::remove(ready.options.out, not_empty);
  return done;
}

/// Problems of a suite are dealt to the devices, candidates of a single problem to its GPUs.
Result<int> sweep_on_several(const std::vector<std::string>& devices, const SweepArgs& args,
                             const Settings& settings) {
  FATUNE_TRY(const PlannedSuite planned, plan_suite(args, settings));
  const bool gpus = devices.front().starts_with("cuda:");
  if (planned.plan.problems.size() == 1 && gpus && args.confirm_on.empty())
    return sweep_here(devices, args, settings);
  FATUNE_TRY_STATUS(check_several_devices(args, "--device names several"));
  return sweep_on_devices(devices, planned, args, settings);
}

Result<int> sweep(const SweepArgs& args, const Settings& settings) {
  const int ranks = args.shard.empty() ? launched_ranks(environment) : 1;
  if (ranks > 1)
    return sweep_on_ranks(
        ranks, args, [&] { return plan_suite(args, settings); }, settings);
  FATUNE_TRY(const auto devices, choose_devices(args.device));
  if (devices.size() > 1) return sweep_on_several(devices, args, settings);
  return sweep_here(devices, args, settings);
}

}  // namespace

Runner setup_sweep(CLI::App& command) {
  return make_runner(command, sweep_table, "fatune sweep --shape 4,8,512,64", sweep);
}

}  // namespace fatune::cli
