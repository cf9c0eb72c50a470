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

template <Verb verb>
Result<int> go_on(const SweepArgs& args, const Settings& settings) {
  FATUNE_TRY(SweepUse use, resolve_use(args));
  use.finals_only = verb == kFinals;
  const auto make_run = [&](const SweepHosts&, const Catalog& catalog) {
    return resumed_run(args.run, use, catalog);
  };
  return start(use, make_run, settings);
}

}  // namespace

Result<int> sweep(const SweepArgs& args, const Settings& settings) {
  FATUNE_TRY(const SweepUse use, resolve_use(args));
  const auto make_run = [&](const SweepHosts& hosts, const Catalog& catalog) {
    return new_run(args, use, hosts, catalog);
  };
  return start(use, make_run, settings);
}

Runner setup_sweep(CLI::App& command) {
  return make_runner(command, verb_table<kSweep>, "fatune sweep --shape 4,8,512,64", sweep);
}

Runner setup_resume(CLI::App& command) {
  return make_runner(command, verb_table<kResume>,
                     "fatune sweep --shape 4,8,512,64 --out runs/first\n  fatune resume runs/first",
                     go_on<kResume>);
}

Runner setup_finals(CLI::App& command) {
  return make_runner(command, verb_table<kFinals>,
                     "fatune sweep --shape 4,8,512,64 --out runs/first\n  fatune finals runs/first",
                     go_on<kFinals>);
}

}  // namespace fatune::cli
