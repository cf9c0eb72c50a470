// sweep_on_devices.cpp - a suite's parts to processes of this host, one a device at a time.
#include "cli/commands/sweep_on_devices.hpp"

#include <memory>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "cli/options/session.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "tune/fleet/part_process.hpp"

namespace fatune::cli {

Result<int> sweep_on_devices(const std::vector<std::string>& devices, const PlannedSuite& planned,
                             const SweepArgs& args, const Settings& settings) {
  FATUNE_TRY(const std::size_t confirm_on, parse_confirm_on(args.confirm_on));
  if (planned.plan.problems.size() < 2 && confirm_on < 2) {
    return usage_error(
        "--device names several, and there is one problem: its candidates are measured on one GPU; "
        "--confirm-on repeats its final phase on others");
  }
  std::vector<std::string> gpus(devices.size());
  if (confirm_on > 1) {
    FATUNE_TRY(gpus, gpus_of(devices));
    const std::size_t distinct = std::set(gpus.begin(), gpus.end()).size();
    if (confirm_on > distinct)
      return usage_error(
          fmt::format("--confirm-on {}: --device names {}", confirm_on, counted(distinct, "GPU")));
  }
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
        [&suite, &args, jobs, &device = devices[i]](std::size_t part) {
          return command_of(suite.open[part], {device, jobs}, args);
        },
        nullptr, gpus[i]));
  }
  FleetClock clock;
  FATUNE_TRY(const FleetResult fleet, run_parts(suite, crew, clock));
  return finish_suite(suite, fleet, settings);
}

}  // namespace fatune::cli
