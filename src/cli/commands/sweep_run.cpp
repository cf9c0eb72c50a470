// sweep_run.cpp: Opens devices, watches the sweep and answers with its result.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/commands/live_progress.hpp"
#include "cli/commands/ready_sweep.hpp"
#include "cli/commands/tools.hpp"
#include "cli/options/catalog.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "report/page/live_server.hpp"
#include "report/text/sweep_report.hpp"
#include "tune/sweep/best.hpp"
#include "tune/sweep/problem_sweep.hpp"

namespace fatune::cli {
namespace {

/// "shard 2/4: 2 of 12 problems: long 1,8,4096,64 f16; small 2,8,128,64 f16"
std::string shard_notice(const RunPlan& plan) {
  std::vector<std::string> labels;
  for (const NamedProblem& named : shard_problems(plan)) labels.push_back(label(named));
  return fmt::format("shard {}: {} of {} problems: {}", describe(*plan.shard), labels.size(),
                     plan.problems.size(), join(labels, "; "));
}

constexpr const char* kOtherFolder = "; name another folder with --out DIR";

/// Whether a run can be written to the folder, or to the nearest parent that exists.
Status check_writable(std::filesystem::path folder) {
  std::error_code ignored;
  const std::filesystem::path wanted = folder;
  folder = std::filesystem::absolute(folder, ignored);
  while (!std::filesystem::exists(folder, ignored) && folder.has_relative_path())
    folder = folder.parent_path();
  const bool is_folder = std::filesystem::is_directory(folder, ignored);
  if (is_folder && ::access(folder.c_str(), W_OK) == 0) return {};
  const std::string why = std::strerror(is_folder ? errno : ENOTDIR);
  return file_error(wanted.string() + ": cannot write there: " + why + kOtherFolder);
}

/// Logs each winner that failed a tool.
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

int print_result(const ReadySweep& ready, const SweepResult& result, const Settings& settings) {
  const std::string notice = recorded_notice(ready.device.device, result.environment);
  const bool found = std::any_of(result.problems.begin(), result.problems.end(),
                                 [](const ProblemResult& each) { return each.best() != nullptr; });
  const std::string lines = join(wrap(notice, settings.paint.columns()), "\n");
  const std::string yardstick =
      found && !ready.options.plan.skip_correctness ? yardstick_notice(ready.kernels) : "";
  if (!yardstick.empty() && settings.json) log::info(yardstick);
  print(settings.json ? dump_pretty(best_json(result))
                      : between_notices(
                            lines, sweep_report(result, settings.paint) +
                                       (yardstick.empty() ? "" : settings.paint.fitted(yardstick)) +
                                       (lines.empty() ? "" : "\n")));
  if (result.interrupted) {
    const SweepUse& use = ready.use;
    const std::string run = shell_word(result.folder.string()) +
                            (use.names_device ? " --device " + shell_word(use.device) : "");
    log::warn(fmt::format("interrupted; continue with: fatune {} {}",
                          use.finals_only ? "finals" : "resume", run) +
              (use.finals_only ? "" : "\n  or end the search there: fatune finals " + run));
    return kInterrupted;
  }
  if (!found) {
    log::error(result.environment.recorded
                   ? "the recording holds no measured candidate of these kernels for this problem"
                   : "no candidate passed every gate; the table above gives the reasons");
  }
  return found && all_are_sound(result) ? kDone : kAnswerIsNo;
}

/// Runs the winners under compute-sanitizer and writes the verdicts to best.json. A failed winner
/// stays the best, but is not verified.
Status sanitize_winners(const ReadySweep& ready, const Settings& settings, SweepResult& result) {
  for (ProblemResult& problem : result.problems) {
    const FinalRecord* best = problem.best();
    if (best == nullptr) continue;
    FinalRecord& record = problem.finals[static_cast<std::size_t>(best - problem.finals.data())];
    if (record.kernel.empty() || !record.verification) continue;
    FATUNE_TRY(const KernelRef kernel, find_kernel(ready.kernels, record.kernel));
    FATUNE_TRY(Config config, config_from_json(kernel->manifest, record.config, "the winner"));
    FATUNE_TRY(auto verdicts, sanitize({kernel, std::move(config), record.problem},
                                       result.environment.limits, ready.device.device, settings));
    take_verdicts(std::move(verdicts), *record.verification);
  }
  return save_best(result);
}

class OneDevice final : public SweepDevices {
 public:
  explicit OneDevice(std::unique_ptr<Evaluator> evaluator) : evaluator_(std::move(evaluator)) {}
  const Environment& environment() const override { return evaluator_->environment(); }
  Result<SweepResult> sweep(const ReadySweep& ready) override {
    return run_sweep(ready.options, ready.kernels, ready.device.reference, *evaluator_);
  }

 private:
  std::unique_ptr<Evaluator> evaluator_;
};

/// Runs the sweep, with progress of one device on stderr, and with --serve on a page.
Result<SweepResult> run_watched(ReadySweep& ready, SweepDevices& devices, LiveServer* server,
                                const Settings& settings) {
  std::optional<LiveProgress> progress;
  if (ready.lanes.empty()) progress.emplace(settings);
  ready.options.on_progress = [&](const SweepProgress& now) {
    if (progress) progress->show(now);
    if (server != nullptr) server->show(now);
  };
  auto result = devices.sweep(ready);
  ready.options.on_progress = nullptr;
  if (server != nullptr) server->finish();
  devices.finish(result);
  return result;
}

constexpr std::string_view kPrefix = "fatune: ";  // of a message on stderr

/// Adds known configs for the devices' architecture.
void find_known(ReadySweep& ready, const Arch& arch) {
  std::vector<SavedConfig>& known = ready.options.known;
  const auto imported =
      import_known(ready.imports, ready.kernels, ready.options.plan.problems, arch);
  known.insert(known.begin(), imported.begin(), imported.end());
  if (ready.options.resume) return;
  const std::string said = known_notice(ready.options.plan, known, arch);
  if (!said.empty())
    log::info(join(wrap(said, text_columns() - std::min(text_columns(), kPrefix.size())), "\n  "));
}

constexpr const char* kRecordedArch = "sm_90a";  // of the shipped recordings

/// Error if no kernel can do the first problem. Such a problem is in no recording.
Status check_possible(const ReadySweep& ready) {
  FATUNE_TRY(const Arch arch, parse_arch(kRecordedArch));
  FATUNE_TRY(const DeviceLimits limits, typical_limits(arch));
  ProblemResult facts;
  facts.problem = ready.options.plan.problems.front();
  const auto built = build_spaces(ready.kernels, limits, facts);
  return built ? Status() : Status(built.error());
}

Result<int> sweep_and_print(ReadySweep& ready, SweepDevices& devices, LiveServer* server,
                            const Settings& settings) {
  const Environment& environment = devices.environment();
  const std::string notice = recorded_notice(ready.device.device, environment);
  if (!notice.empty() && settings.json) log::info(notice);
  if (ready.options.plan.objective == Objective::kScore)
    ready.options.count_use = make_count_use(ready.device.device, environment.limits, settings);
  find_known(ready, environment.limits.arch);
  if (ready.options.plan.shard && ready.options.plan.shard->of > 1)
    log::info(shard_notice(ready.options.plan));
  auto result = run_watched(ready, devices, server, settings);
  if (!result) return std::move(result).error();
  if (ready.use.sanitize) FATUNE_TRY_STATUS(sanitize_winners(ready, settings, *result));
  return print_result(ready, *result, settings);
}

Result<int> open_and_sweep(ReadySweep& ready, const OpenDevices& open, const Settings& settings) {
  std::unique_ptr<LiveServer> server;
  if (ready.use.serve) {
    FATUNE_TRY(server, LiveServer::start(*ready.use.serve, ready.options.out));
    log::info(fmt::format("live at {} until the sweep ends; from another machine: ssh -L {}",
                          server->url(), server->forward()));
  }
  FATUNE_TRY(const std::unique_ptr<SweepDevices> devices, open(ready));
  return sweep_and_print(ready, *devices, server.get(), settings);
}

}  // namespace

Result<std::filesystem::path> make_run_folder(const std::filesystem::path& wanted) {
  if (const Status made = make_directories(wanted.parent_path()); !made)
    return Error{made.error().kind, made.error().message + kOtherFolder};
  std::filesystem::path folder = wanted;
  std::error_code failure;
  for (int number = 2; !std::filesystem::create_directory(folder, failure); ++number) {
    if (failure) {
      return file_error(fmt::format("{}: cannot create this folder: {}{}", folder.string(),
                                    failure.message(), kOtherFolder));
    }
    folder = fmt::format("{}-{}", wanted.string(), number);
  }
  return folder;
}

std::string yardstick_notice(const std::vector<KernelRef>& kernels) {
  std::vector<std::string> own;
  for (const KernelRef& kernel : kernels) {
    if (kernel->manifest.is_own_yardstick()) own.push_back(kernel->manifest.name);
  }
  if (own.empty()) return {};
  return fmt::format("Outputs of {} agree with those of the default config; there is no reference",
                     join(own, ", "));
}

DeviceLane::Open lane_opener(const OpenRequest& request, const Settings& settings) {
  return [request, &settings] { return open_evaluator(request, settings); };
}

Status FleetDevices::meet(std::unique_ptr<ExecutorPool> pool) {
  pool_ = std::move(pool);
  FATUNE_TRY(environment_, gather(*pool_));
  return {};
}

Result<SweepResult> FleetDevices::sweep(const ReadySweep& ready) {
  return sweep_on_fleet(ready.options, ready.kernels, ready.device.reference,
                        {*pool_, work_, environment_});
}

Result<std::unique_ptr<SweepDevices>> open_devices(const ReadySweep& ready,
                                                   const Settings& settings) {
  if (ready.lanes.empty()) {
    auto evaluator = open_evaluator(ready.device, settings);
    if (!evaluator && ready.device.device.fell_back) FATUNE_TRY_STATUS(check_possible(ready));
    if (!evaluator) return std::move(evaluator).error();
    return std::unique_ptr<SweepDevices>(std::make_unique<OneDevice>(*std::move(evaluator)));
  }
  auto fleet = std::make_unique<FleetDevices>();
  auto pool = std::make_unique<LanePool>(fleet->clock(), fleet->work());
  for (const OpenRequest& lane : ready.lanes)
    pool->add(name_of(lane.device), lane_opener(lane, settings));
  FATUNE_TRY_STATUS(fleet->meet(std::move(pool)));
  return std::unique_ptr<SweepDevices>(std::move(fleet));
}

Result<int> run_ready(ReadySweep& ready, const OpenDevices& open, const Settings& settings) {
  if (ready.use.sanitize && ready.device.device.kind == DeviceChoice::Kind::kRecorded)
    log::warn("--sanitize checks nothing here: a recorded device runs no kernels");
  if (ready.names_folder) FATUNE_TRY_STATUS(check_writable(ready.options.out));
  if (!ready.names_folder) {
    FATUNE_TRY(ready.options.out, make_run_folder(ready.options.out));
    ready.device.log_folder = ready.options.out;
    for (OpenRequest& lane : ready.lanes) lane.log_folder = ready.options.out;
  }
  auto done = open_and_sweep(ready, open, settings);
  // Removes the empty folder of a run that failed before it wrote anything.
  std::error_code not_empty;
  if (!done && !ready.names_folder) std::filesystem::remove(ready.options.out, not_empty);
  return done;
}

}  // namespace fatune::cli
