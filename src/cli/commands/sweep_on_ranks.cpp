// sweep_on_ranks.cpp: Joins the ranks, leads them on rank 0, and serves rank 0 on the others.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands/ready_sweep.hpp"
#include "cli/options/catalog.hpp"
#include "cli/options/launchers.hpp"
#include "core/log.hpp"
#include "transport/mpi_transport.hpp"
#include "tune/fleet/rank_pool.hpp"
#include "tune/fleet/rank_worker.hpp"
#include "tune/sweep/best.hpp"

namespace fatune::cli {
namespace {

/// Time for all ranks to leave MPI, which takes less than a second; chosen.
constexpr double kLeaving_s = 10;

/// Calls `late`, which ends the process, unless destroyed before: a dead rank blocks the others in
/// MPI for ever.
class Watchdog {
 public:
  Watchdog(double patience_s, std::function<void()> late)
      : thread_([patience_s, late = std::move(late)](const std::stop_token& stop) {
          std::mutex mutex;
          std::unique_lock lock(mutex);
          std::condition_variable_any waiting;
          const auto patience = std::chrono::duration<double>(patience_s);
          waiting.wait_for(lock, stop, patience, [] { return false; });
          if (!stop.stop_requested()) late();
        }) {}

 private:
  std::jthread thread_;
};

double joining_s() {
  const auto silence_s = rank_silence(environment);
  return kGreetingTimes * (silence_s ? *silence_s : RankPoolOptions().silence_s);
}

Result<std::unique_ptr<Transport>> join_ranks(int launched) {
  const double patience_s = joining_s();
  const Watchdog watchdog(patience_s, [launched, patience_s] {
    log::error(fmt::format(
        "the other ranks have not joined within {:.0f} s: one of the {} started ranks died or did "
        "not begin. The output of the launcher and of that rank above gives the reason. Run the "
        "command again; FATUNE_SILENCE, a quarter of that time, sets a longer wait",
        patience_s, launched));
    ::_exit(kEnvironment);
  });
  return open_mpi(mpi_plugin_places(), launched);
}

/// Exit code of a finished command. Logs an error, and prints its document with --json.
int exit_code(const Result<int>& done, const Settings& settings) {
  return done ? *done
              : fail({.words = {}, .head = settings.head, .json = settings.json}, done.error());
}

/// Leaves MPI with the other ranks, or alone after `patience_s`.
Status leave_ranks(Transport& transport, double patience_s, const Result<int>& done,
                   const Settings& settings) {
  const Watchdog watchdog(patience_s, [&, patience_s] {
    log::warn(fmt::format("a rank has not left MPI within {:.0f} s: rank {} ends without it",
                          patience_s, transport.rank()));
    ::_exit(close_output(exit_code(done, settings)));
  });
  return transport.end();
}

/// Devices and cores of this rank. Launchers bind a rank to some of the host's cores.
SweepHosts hosts_of(const HelloMessage& hello, const LocalRank& local) {
  SweepHosts hosts{{}, static_cast<std::size_t>(hello.cores), true};
  if (hello.cores == hello.host_cores)
    hosts.cores = std::max<std::size_t>(1, hosts.cores / local.of);
  for (const RankDevice& device : hello.devices) hosts.devices.push_back(device.name);
  return hosts;
}

/// Devices of all ranks, as seen by rank 0.
class RankDevices final : public FleetDevices {
 public:
  explicit RankDevices(std::optional<bool>& together) : together_(together) {}
  void finish(Result<SweepResult>& result) override {
    auto& ranks = static_cast<RankPool&>(pool());
    if (result) {
      result->ranks = ranks.census();
      if (const Status saved = save_best(*result); !saved) result = saved.error();
    }
    together_ = ranks.stop();
  }

 private:
  std::optional<bool>& together_;
};

/// Context of rank 0: its own greeting, and the silence after which another rank counts as lost.
struct Lead {
  Transport& transport;
  FleetClock& clock;
  HelloMessage own;
  double silence_s = 30;
};

Result<std::unique_ptr<SweepDevices>> gather_ranks(const Lead& lead, const ReadySweep& ready,
                                                   const Settings& settings,
                                                   std::optional<bool>& together) {
  auto fleet = std::make_unique<RankDevices>(together);
  RankPoolOptions options{lead.silence_s, lead.own, ready.use.device != "auto"};
  auto pool =
      std::make_unique<RankPool>(lead.transport, lead.clock, fleet->work(), std::move(options));
  for (std::size_t i = 0; i < ready.lanes.size(); ++i) {
    pool->executors.push_back(std::make_unique<DeviceLane>(
        fmt::format("rank 0 on {}, {}", lead.transport.host(0), lead.own.devices[i].name),
        lane_opener(ready.lanes[i], settings), fleet->work().lane));
  }
  FATUNE_TRY_STATUS(fleet->meet(std::move(pool)));
  return std::unique_ptr<SweepDevices>(std::move(fleet));
}

/// Leads the ranks from rank 0. `together` is empty until the ranks are told to stop, then says
/// whether all of them answered.
Result<int> lead_ranks(Transport& transport, FleetClock& clock, const SweepUse& use,
                       const MakeRun& make_run, const Settings& settings,
                       std::optional<bool>& together) {
  FATUNE_TRY(const double silence_s, rank_silence(environment));
  const LocalRank local = local_rank(transport);
  FATUNE_TRY(const auto catalog, load_catalog(settings));
  Lead lead{transport, clock, make_hello(use.device, local, settings), silence_s};
  const SweepHosts hosts = hosts_of(lead.own, local);
  FATUNE_TRY(ReadySweep ready, make_run(hosts, catalog));
  FATUNE_TRY_STATUS(prepare(ready, hosts, catalog, settings));
  if (lead.own.devices.empty()) log::info("rank 0 measures nothing: " + lead.own.problem);
  return run_ready(
      ready, [&](const ReadySweep& sweep) { return gather_ranks(lead, sweep, settings, together); },
      settings);
}

/// Sweeps an order of rank 0. The folder holds its journal.
Status sweep_order(const std::filesystem::path& folder, Evaluator& evaluator, const SweepUse& use,
                   const Settings& settings, SweepOptions options) {
  FATUNE_TRY(const Journal journal, load_journal(folder / "journal.jsonl"));
  FATUNE_TRY(const auto catalog, load_catalog(settings));
  options.plan = journal.header.plan;
  FATUNE_TRY(const auto kernels, choose_kernels(catalog, options.plan.kernels));
  FATUNE_TRY(const OperationRef operation, operation_of(kernels));
  FATUNE_TRY(const KernelRef reference, reference_kernel(catalog, operation));
  options.out = folder;
  options.resume = true;
  options.finals_only = use.finals_only;
  options.finals.seed = options.plan.seed;
  options.reference_is_baseline = names_reference(options.plan.baselines, reference);
  FATUNE_TRY(options.baselines,
             make_baselines(options.plan.baselines, reference, catalog, settings));
  FATUNE_TRY(const SweepResult result, run_sweep(options, kernels, reference, evaluator));
  return result.interrupted ? Status(Error(ErrorKind::kInterrupted, "interrupted")) : Status();
}

Result<RankWorkerEnd> serve(Transport& transport, const SweepUse& use, const Settings& settings) {
  FATUNE_TRY(const double silence_s, rank_silence(environment));
  const LocalRank local = local_rank(transport);
  RankWorkerOptions options;
  options.silence_s = silence_s;
  options.hello = [&] { return make_hello(use.device, local, settings); };
  options.open = [&](const HelloMessage& hello,
                     std::size_t device) -> Result<std::unique_ptr<Evaluator>> {
    FATUNE_TRY(auto catalog, load_catalog(settings));
    FATUNE_TRY(const auto kernels, used_kernels(use, catalog));
    FATUNE_TRY(const OperationRef operation, operation_of(kernels));
    const SweepHosts hosts = hosts_of(hello, local);
    OpenRequest request;
    FATUNE_TRY(request.device, choose_device(hosts.devices[device]));
    FATUNE_TRY(request.reference, reference_kernel(catalog, operation));
    request.jobs = jobs_of_each(use.jobs, hosts.devices.size(), hosts.cores);
    request.catalog = std::move(catalog);
    return open_evaluator(request, settings);
  };
  options.sweep = [&](const std::filesystem::path& folder, Evaluator& evaluator,
                      const std::function<bool()>& cancelled, const Say& say) {
    SweepOptions sweep;
    sweep.cancelled = cancelled;
    sweep.on_progress = [&say](const SweepProgress& now) { say(progress_words(now)); };
    return sweep_order(folder, evaluator, use, settings, std::move(sweep));
  };
  FleetClock clock;
  return run_rank_worker(transport, clock, options);
}

}  // namespace

Result<int> sweep_on_ranks(const SweepUse& use, const MakeRun& make_run, const Settings& settings) {
  FATUNE_TRY(const auto transport, join_ranks(use.ranks));
  if (transport->rank() > 0) {
    FATUNE_TRY(const RankWorkerEnd end, serve(*transport, use, settings));
    // Rank 0 merges and prints before it leaves.
    if (end == RankWorkerEnd::kTogether)
      FATUNE_TRY_STATUS(leave_ranks(*transport, joining_s() + kLeaving_s, kDone, settings));
    return kDone;
  }
  std::optional<bool> together;
  FleetClock clock;
  auto done = lead_ranks(*transport, clock, use, make_run, settings, together);
  if (!together) stop_ranks(*transport);
  if (together.value_or(true))
    FATUNE_TRY_STATUS(leave_ranks(*transport, kLeaving_s, done, settings));
  return done;
}

}  // namespace fatune::cli
