// sweep_on_devices.cpp - a suite's parts to processes of this host, one a device at a time.
#include "cli/commands/sweep_on_devices.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "cli/options/session.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "tune/fleet/part_process.hpp"

namespace fatune::cli {

namespace {

/// For --device: all of them, `home` first.
std::string with_home(const std::vector<std::string>& devices, std::size_t home) {
  std::vector<std::string> ordered = devices;
  std::rotate(ordered.begin(), ordered.begin() + static_cast<std::ptrdiff_t>(home),
              ordered.begin() + static_cast<std::ptrdiff_t>(home) + 1);
  return join(ordered, ",");
}

}  // namespace

Result<int> sweep_on_devices(const std::vector<std::string>& devices, const PlannedSuite& planned,
                             const SweepArgs& args, const Settings& settings) {
  const bool one_problem = planned.plan.problems.size() < 2;
  if (one_problem) {
    return usage_error(
        "--device names several recordings, and there is one problem: its candidates are of one");
  }
  const bool spreads = one_problem && devices.front().starts_with("cuda:");
  FATUNE_TRY(const std::size_t jobs,
             jobs_of_each(args, devices.size(), std::thread::hardware_concurrency()));
  FATUNE_TRY(SuiteRun suite, begin_suite(planned, args));
  const std::size_t open = suite.open.size();
  log::info(fmt::format("{}{} for {}, {} each", counted(open, "problem"),
                        open < suite.parts.size() ? " left" : "", join(devices, ", "),
                        counted(jobs, "compile job")));
  FleetCrew crew;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    crew.hands.push_back(std::make_unique<ProcessHand>(
        devices[i],
        [&suite, &args, &devices, jobs, spreads, i](std::size_t number) {
          const Part& part = suite.open[number];
          // While a single problem is searched, the other GPUs have nothing else to do.
          if (spreads && part.searched.empty())
            return command_of(part, {with_home(devices, i), jobs * devices.size()}, args);
          return command_of(part, {devices[i], jobs}, args);
        },
        nullptr));
  }
  FleetClock clock;
  FATUNE_TRY(const FleetResult fleet, run_parts(suite, crew, clock));
  return finish_suite(suite, fleet, settings);
}

}  // namespace fatune::cli
