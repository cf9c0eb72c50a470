// cmd_sweep.cpp: Starts a run with `fatune sweep`, and continues one with `resume` and `finals`.
#include <algorithm>
#include <thread>

#include "cli/commands.hpp"
#include "cli/commands/ready_sweep.hpp"
#include "cli/options/catalog.hpp"

namespace fatune::cli {
namespace {

/// Runs on the devices of this process, or of the ranks that a launcher started.
Result<int> start(const SweepUse& use, const MakeRun& make_run, const Settings& settings) {
  if (use.ranks > 1) return sweep_on_ranks(use, make_run, settings);
  FATUNE_TRY(const auto devices, choose_devices(use.device));
  FATUNE_TRY(const auto catalog, load_catalog(settings));
  const SweepHosts hosts{devices, std::max(1U, std::thread::hardware_concurrency())};
  FATUNE_TRY(ReadySweep ready, make_run(hosts, catalog));
  FATUNE_TRY_STATUS(prepare(ready, hosts, catalog, settings));
  return run_ready(
      ready, [&](const ReadySweep& resolved) { return open_devices(resolved, settings); },
      settings);
}

Result<int> sweep(const SweepArgs& args, const Settings& settings) {
  FATUNE_TRY(const SweepUse use, resolve_use(args));
  return start(
      use,
      [&](const SweepHosts& hosts, const std::vector<KernelRef>& catalog) {
        return new_run(args, use, hosts, catalog);
      },
      settings);
}

Result<int> go_on(const std::string& folder, const SweepUse& use, const Settings& settings) {
  return start(
      use,
      [&](const SweepHosts&, const std::vector<KernelRef>& catalog) {
        return resumed_run(folder, use, catalog);
      },
      settings);
}

Result<int> resume(const SweepArgs& args, const Settings& settings) {
  FATUNE_TRY(const SweepUse use, resolve_use(args));
  return go_on(args.run, use, settings);
}

Result<int> finals(const SweepArgs& args, const Settings& settings) {
  FATUNE_TRY(SweepUse use, resolve_use(args));
  use.finals_only = true;
  return go_on(args.run, use, settings);
}

}  // namespace

Runner setup_sweep(CLI::App& command) {
  return make_runner(command, verb_table<kSweep>, "fatune sweep --shape 4,8,512,64", sweep);
}

Runner setup_resume(CLI::App& command) {
  return make_runner(command, verb_table<kResume>, "fatune resume runs/mission", resume);
}

Runner setup_finals(CLI::App& command) {
  return make_runner(command, verb_table<kFinals>, "fatune finals runs/mission", finals);
}

}  // namespace fatune::cli
