// sweep_on_devices.cpp - a suite's parts to processes of this host, one a device at a time.
#include "cli/commands/sweep_on_devices.hpp"

#include <memory>
#include <thread>

#include <fmt/format.h>

#include "core/log.hpp"
#include "core/text.hpp"
#include "tune/fleet/part_process.hpp"

namespace fatune::cli {

Result<int> sweep_on_devices(const std::vector<std::string>& devices, const PlannedSuite& planned,
                             const SweepArgs& args, const Settings& settings) {
  if (planned.plan.problems.size() < 2) {
    return usage_error(
        "--device names several, and there is one problem: its candidates are measured on one GPU");
  }
  FATUNE_TRY(const std::size_t jobs,
             jobs_of_each(args, devices.size(), std::thread::hardware_concurrency()));
  FATUNE_TRY(const SuiteRun suite, begin_suite(planned));
  const std::size_t open = suite.open.size();
  log::info(fmt::format("{}{} for {}, {} each", counted(open, "problem"),
                        open < suite.parts.size() ? " left" : "", join(devices, ", "),
                        counted(jobs, "compile job")));
  FleetCrew crew;
  for (const std::string& device : devices) {
    crew.hands.push_back(
        std::make_unique<ProcessHand>(device, [&suite, &args, jobs, &device](std::size_t part) {
          return command_of(suite.open[part], {device, jobs}, args);
        }));
  }
  FleetClock clock;
  FATUNE_TRY(const FleetResult fleet, run_open_parts(suite, crew, clock));
  return finish_suite(suite, fleet, settings);
}

}  // namespace fatune::cli
