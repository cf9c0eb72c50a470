// sweep_on_ranks.cpp - joins the ranks; what rank 0 does, and what the others do.
#include "cli/commands/sweep_on_ranks.hpp"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/options/ranks.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "transport/mpi_transport.hpp"
#include "tune/fleet/agent.hpp"
#include "tune/fleet/measuring.hpp"
#include "tune/fleet/part_process.hpp"
#include "tune/fleet/rank_crew.hpp"

namespace fatune::cli {
namespace {

/// For all ranks to leave MPI, which takes them less than a second; chosen.
constexpr double kLeaving_s = 10;

/// Calls `late`, which ends the process, unless it is destroyed before: a rank that died leaves the
/// others waiting in MPI for ever.
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
  return kGreetingTimes * (silence_s ? *silence_s : RankCrewOptions().silence_s);
}

Result<std::unique_ptr<Transport>> join_ranks(int launched) {
  const double patience_s = joining_s();
  const Watchdog watchdog(patience_s, [launched, patience_s] {
    log::error(fmt::format(
        "the other ranks have not joined within {:.0f} s: of the {} that were started one died or "
        "did not begin; what the launcher and that rank said above is why. Give the same command "
        "again; FATUNE_SILENCE, a quarter of that time, makes it longer",
        patience_s, launched));
    ::_exit(kEnvironment);
  });
  return open_mpi(mpi_plugin_places(), launched);
}

/// Of a command that is done. An error is logged, with its document where one was asked for.
int exit_code(const Result<int>& done, const Settings& settings) {
  return done ? *done
              : fail({.words = {}, .head = settings.head, .json = settings.json}, done.error());
}

/// Leaves MPI with the other ranks, or without them once they have had time for it.
Status leave_ranks(Transport& transport, double patience_s, const Result<int>& done,
                   const Settings& settings) {
  const Watchdog watchdog(patience_s, [&, patience_s] {
    log::warn(fmt::format("a rank has not left MPI within {:.0f} s: rank {} ends without it",
                          patience_s, transport.rank()));
    ::_exit(close_output(exit_code(done, settings)));
  });
  return transport.end();
}

/// Compile processes of each device of this rank.
Result<std::size_t> jobs_of_rank(const SweepArgs& args, const HelloMessage& hello,
                                 const LocalRank& local) {
  const bool bound = hello.cores < hello.host_cores;
  const std::size_t devices = std::max<std::size_t>(1, hello.devices.size());
  return jobs_of_each(args, bound ? devices : devices * local.of,
                      static_cast<std::size_t>(hello.cores));
}

/// "4 ranks on 2 hosts"
std::string describe_ranks(const Transport& transport) {
  std::set<std::string> hosts;
  for (int rank = 0; rank < transport.size(); ++rank) hosts.insert(transport.host(rank));
  return fmt::format("{} on {}", counted(static_cast<std::size_t>(transport.size()), "rank"),
                     counted(hosts.size(), "host"));
}

/// Of a rank that only compiles.
Result<HostCompiler> host_compiler(const Settings& settings, std::size_t jobs) {
  FATUNE_TRY(CompilePool pool, open_pool(settings, jobs));
  auto owned = std::make_unique<CompilePool>(std::move(pool));
  const CompilePool& known = *owned;
  return HostCompiler{std::move(owned),
                      [&known](const CompileRequest& request) { return known.key_of(request); }};
}

RankCrewOptions crew_options(const SuiteRun& suite, const SweepArgs& args,
                             const HelloMessage& own) {
  RankCrewOptions options;
  options.own = own;
  options.warn_of_shared = args.device != "auto";  // by which ranks above one a GPU compile
  options.order = [&](std::size_t number) {
    const Part& part = suite.open[number];
    return PartOrder{part.folder, part.log, part_words(part, args, false),
                     part_words(part, args, true)};
  };
  return options;
}

void add_own_hands(const Transport& transport, const HelloMessage& own, std::size_t jobs,
                   const SuiteRun& suite, const SweepArgs& args, RankCrew& crew) {
  for (const RankDevice& device : own.devices) {
    const std::string name = fmt::format("rank 0 on {}, {}", transport.host(0), device.name);
    crew.hands.push_back(std::make_unique<ProcessHand>(
        name,
        [&suite, &args, &crew, jobs, device = device.name](std::size_t part) {
          return command_of(suite.open[part], {device, jobs, crew.remote_jobs()}, args);
        },
        &crew.desk(), gpu_of({name, device.environment})));
  }
}

/// What rank 0 does once it has a plan. `together`: empty until the ranks are told to stop, then
/// whether all of them were there.
Result<int> lead(Transport& transport, const SweepArgs& args, const PlannedSuite& planned,
                 const Settings& settings, std::optional<bool>& together) {
  FATUNE_TRY(const double silence_s, rank_silence(environment));
  const LocalRank local = local_rank(transport);
  const HelloMessage own = make_hello(args.device, local, settings);
  if (own.devices.empty()) log::info("rank 0 measures nothing: " + own.problem);
  FATUNE_TRY(const std::size_t jobs, jobs_of_rank(args, own, local));
  FATUNE_TRY(SuiteRun suite, begin_suite(planned, args));
  log::info(fmt::format("{}{} for {}", counted(suite.open.size(), "problem"),
                        suite.open.size() < suite.parts.size() ? " left" : "",
                        describe_ranks(transport)));
  FleetClock clock;
  RankCrewOptions options = crew_options(suite, args, own);
  options.silence_s = silence_s;
  RankCrew crew(transport, clock, std::move(options));
  add_own_hands(transport, own, jobs, suite, args, crew);
  const auto fleet = run_parts(suite, crew, clock);
  suite.ranks = crew.census();
  together = crew.stop();
  if (!fleet) return fleet.error();
  return finish_suite(suite, *fleet, settings);
}

Result<int> plan_and_lead(Transport& transport, const SweepArgs& args,
                          const std::function<Result<PlannedSuite>()>& plan,
                          const Settings& settings, std::optional<bool>& together) {
  FATUNE_TRY_STATUS(check_several_devices(args, "several processes were started together"));
  FATUNE_TRY(const PlannedSuite planned, plan());
  return lead(transport, args, planned, settings, together);
}

Result<AgentEnd> serve(Transport& transport, const SweepArgs& args, const Settings& settings) {
  FATUNE_TRY(const double silence_s, rank_silence(environment));
  const LocalRank local = local_rank(transport);
  AgentOptions options;
  options.silence_s = silence_s;
  options.hello = [&] { return make_hello(args.device, local, settings); };
  options.jobs = [&](const HelloMessage& hello) { return jobs_of_rank(args, hello, local); };
  options.command = part_command;
  options.compiler = [&](std::size_t jobs) { return host_compiler(settings, jobs); };
  FleetClock clock;
  return run_agent(transport, clock, options);
}

}  // namespace

Result<int> sweep_on_ranks(int launched, const SweepArgs& args,
                           const std::function<Result<PlannedSuite>()>& plan,
                           const Settings& settings) {
  FATUNE_TRY(const auto transport, join_ranks(launched));
  if (transport->rank() > 0) {
    FATUNE_TRY(const AgentEnd end, serve(*transport, args, settings));
    // Rank 0 merges and prints before it leaves.
    if (end == AgentEnd::kTogether)
      FATUNE_TRY_STATUS(leave_ranks(*transport, joining_s() + kLeaving_s, kDone, settings));
    return kDone;
  }
  std::optional<bool> together;
  auto done = plan_and_lead(*transport, args, plan, settings, together);
  if (!together) stop_ranks(*transport);
  if (together.value_or(true))
    FATUNE_TRY_STATUS(leave_ranks(*transport, kLeaving_s, done, settings));
  return done;
}

}  // namespace fatune::cli
