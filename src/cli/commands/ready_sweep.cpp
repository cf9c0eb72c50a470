// ready_sweep.cpp: Makes a run from options or from its journal, and assigns its devices.
#include "cli/commands/ready_sweep.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "cli/options/catalog.hpp"
#include "model/results/journal.hpp"
#include "tune/sweep/best.hpp"

namespace fatune::cli {
namespace {

constexpr std::size_t kMostJobs = 16;  // limit of a sweep, also without --jobs

/// Folder runs/20260131-174500-4-8-512-64-f16; a shard adds "-shard-2-of-4".
std::string default_folder(const RunPlan& plan) {
  std::string folder = "runs/" + local_time("%Y%m%d-%H%M%S-") + slug(plan.problems.front().problem);
  if (plan.shard && plan.shard->of > 1)
    folder += fmt::format("-shard-{}-of-{}", plan.shard->number, plan.shard->of);
  return folder;
}

/// Assigns devices to problems that are searched side by side, or GPUs to the candidates of one
/// problem.
Status choose_places(const SweepHosts& hosts, ReadySweep& ready) {
  std::vector<OpenRequest> requests;
  const std::size_t jobs = jobs_of_each(ready.use.jobs, hosts.devices.size(), hosts.cores);
  for (const std::string& device : hosts.devices) {
    FATUNE_TRY(const DeviceChoice choice, choose_device(device));
    requests.push_back(ready.device);
    requests.back().device = choice;
    if (hosts.several()) requests.back().jobs = jobs;
  }
  if (!requests.empty()) ready.device = requests.front();
  const bool independent =
      ready.options.plan.shard && shard_problems(ready.options.plan).size() > 1;
  if (hosts.ranks && !ready.options.plan.shard)
    return usage_error("this run used one device; resume it without mpirun or srun");
  if (hosts.ranks || (independent && hosts.several())) {
    ready.lanes = std::move(requests);
    return {};
  }
  if (!hosts.several()) return {};
  if (ready.device.device.kind == DeviceChoice::Kind::kRecorded) {
    return usage_error(
        "--device names several recordings, but this sweep takes one; name one recording");
  }
  for (std::size_t i = 1; i < requests.size(); ++i)
    ready.device.helpers.push_back(requests[i].device);
  ready.device.jobs = jobs * requests.size();
  return {};
}

Status find_start(ReadySweep& ready) {
  SweepOptions& options = ready.options;
  // A shard ignores runs beside its own, because those depend on time and host.
  const std::filesystem::path beside = options.plan.shard ? "" : options.out;
  if (ready.start.known) {
    FATUNE_TRY(options.known, known_configs(ready.start.warm, beside));
  }
  FATUNE_TRY(ready.imports, read_imports(ready.start.imports));
  return {};
}

}  // namespace

std::size_t jobs_of_each(std::size_t jobs, std::size_t sweeps, std::size_t cores) {
  const std::size_t shares = std::max<std::size_t>(1, sweeps);
  if (jobs == 0) return std::clamp<std::size_t>(cores / shares, 1, kMostJobs);
  return std::max<std::size_t>(jobs / shares, 1);
}

Result<ReadySweep> new_run(const SweepArgs& args, const SweepUse& use, const SweepHosts& hosts,
                           const Catalog& catalog) {
  FATUNE_TRY(SweepSubject subject, resolve_subject(use, args.problem, catalog));
  FATUNE_TRY(const KernelRef reference, reference_kernel(catalog, subject.operation));
  ReadySweep ready;
  ready.use = use;
  ready.names_folder = !args.out.empty();
  SweepOptions& options = ready.options;
  FATUNE_TRY(options.plan, resolve_plan(args, subject, reference, hosts));
  options.out = args.out.empty() ? default_folder(options.plan) : args.out;
  if (args.no_warm_start && !args.warm.empty())
    return usage_error("--warm and --no-warm-start exclude each other; leave one out");
  ready.start = {!args.no_warm_start, args.warm, args.imports};
  ready.kernels = std::move(subject.kernels);
  return ready;
}

Result<ReadySweep> resumed_run(const std::string& folder, const SweepUse& use,
                               const Catalog& catalog) {
  FATUNE_TRY_STATUS(find_results(folder));
  FATUNE_TRY(Journal journal, load_journal(std::filesystem::path(folder) / "journal.jsonl"));
  ReadySweep ready;
  ready.use = use;
  ready.options.plan = std::move(journal.header.plan);
  ready.options.out = folder;
  ready.options.resume = true;
  ready.options.finals_only = use.finals_only;
  FATUNE_TRY(ready.kernels, choose_kernels(catalog, ready.options.plan.kernels));
  return ready;
}

Status prepare(ReadySweep& ready, const SweepHosts& hosts, const Catalog& catalog,
               const Settings& settings) {
  SweepOptions& options = ready.options;
  const std::vector<std::string>& baselines = options.plan.baselines;
  FATUNE_TRY_STATUS(find_start(ready));
  FATUNE_TRY(const OperationRef operation, operation_of(ready.kernels));
  FATUNE_TRY(const KernelRef reference, reference_kernel(catalog, operation));
  options.reference_is_baseline = names_reference(baselines, reference);
  FATUNE_TRY(options.baselines, make_baselines(baselines, reference, catalog, settings));
  options.finals.seed = options.plan.seed;
  options.date = local_time();
  ready.device.reference = reference;
  ready.device.log_folder = options.out;
  ready.device.jobs = ready.use.jobs;
  ready.device.problems = shard_problems(options.plan);
  ready.device.catalog = catalog;
  return choose_places(hosts, ready);
}

}  // namespace fatune::cli
