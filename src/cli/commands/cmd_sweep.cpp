// cmd_sweep.cpp: Runs `fatune sweep` on the devices of this process, on ranks, or without a device.
#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/commands/ready_sweep.hpp"
#include "cli/commands/sweep_on_ranks.hpp"
#include "cli/commands/sweep_run.hpp"
#include "cli/commands/tools.hpp"
#include "cli/options/catalog.hpp"
#include "cli/options/ranks.hpp"
#include "cli/options/session.hpp"
#include "cli/options/sweep_plan.hpp"

namespace fatune::cli {
namespace {

/// Refuses options that --compile-only ignores: it takes only problems, kernels and the number of
/// configs.
Status check_compile_only(const SweepArgs& args) {
  if (!args.compile_only) {
    return args.arch.empty()
               ? Status()
               : usage_error("--arch requires --compile-only; a GPU reports its own architecture");
  }
  for (const char* flag : {"--baselines", "--device", "--finals", "--import", "--no-warm-start",
                           "--objective", "--one-lever", "--out", "--record-cold", "--resume",
                           "--sanitize", "--shard", "--skip-correctness", "--strategy", "--warm"}) {
    if (args.common.typed.count(flag) > 0)
      return usage_error(fmt::format("--compile-only runs and writes nothing; leave out {}", flag));
  }
  if (args.serve) return usage_error("--compile-only searches nothing; leave out --serve");
  return {};
}

Result<int> sweep(const SweepArgs& args, const Settings& settings) {
  const int ranks = args.shard.empty() ? launched_ranks(environment) : 1;
  if (ranks > 1) return sweep_on_ranks(ranks, args, settings);
  FATUNE_TRY_STATUS(check_compile_only(args));
  FATUNE_TRY(const auto devices, choose_devices(args.device));
  FATUNE_TRY(const auto catalog, load_catalog(settings));
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  FATUNE_TRY(ReadySweep ready, make_ready(args, {devices, cores}, catalog, settings));
  if (args.compile_only && ready.options.plan.budget_seconds)
    return usage_error("--compile-only takes --budget as a number of configs, not as a time");
  if (args.compile_only) {
    return compile_only(args.arch.empty() ? "sm_90a" : args.arch, ready.device.jobs,
                        ready.options.plan, ready.kernels, settings);
  }
  return run_ready(
      ready, [&](const ReadySweep& resolved) { return open_devices(resolved, settings); },
      settings);
}

}  // namespace

Runner setup_sweep(CLI::App& command) {
  return make_runner(command, sweep_table, "fatune sweep --shape 4,8,512,64", sweep);
}

}  // namespace fatune::cli
