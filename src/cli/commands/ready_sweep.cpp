// ready_sweep.cpp: Makes plan, devices and starting configs from arguments.
#include "cli/commands/ready_sweep.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "cli/options/catalog.hpp"
#include "cli/options/problems.hpp"
#include "core/text.hpp"
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

/// Distinct names of --device, which tell the measured devices but not their number.
std::string distinct_devices(const std::vector<std::string>& devices) {
  std::vector<std::string> names;
  for (const std::string& device : devices) {
    if (std::ranges::find(names, device) == names.end()) names.push_back(device);
  }
  return join(names, ",");
}

/// Searches each problem independently on several devices, as in a shard, so that the result does
/// not depend on their number.
Status share_out(std::size_t problems, const SweepHosts& hosts, SweepArgs& args) {
  if (!hosts.several() || !args.shard.empty()) return {};
  if (problems < 2 && !hosts.ranks) return {};
  if (args.objective == name(Objective::kScore))
    return usage_error(
        "--objective score reads the counters of one device; name one with --device");
  args.shard = "1/1";
  return {};
}

Result<RunPlan> plan_of(const SweepArgs& args, const std::vector<KernelRef>& catalog,
                        const SweepHosts& hosts) {
  RunPlan recorded;
  const bool resuming = !args.resume.empty();
  if (resuming) {
    FATUNE_TRY_STATUS(refuse_new_run_options(args));
    FATUNE_TRY(Journal journal, load_journal(std::filesystem::path(args.resume) / "journal.jsonl"));
    recorded = std::move(journal.header.plan);
  }
  const auto names = named_kernels(args, catalog);
  const bool recorded_kernels = resuming && names.empty();
  FATUNE_TRY(const auto kernels,
             choose_kernels(catalog, recorded_kernels ? recorded.kernels : names));
  FATUNE_TRY(const OperationRef operation, operation_of(kernels));
  std::vector<NamedProblem> problems = recorded.problems;
  if (resuming && !names_problem(args.problem)) {
    FATUNE_TRY_STATUS(refuse_companions(args.problem, "--resume " + args.resume));
  } else {
    FATUNE_TRY(problems, resolve_problems(args.problem, operation));
  }
  SweepArgs chosen = args;
  if (operation->declared() != nullptr && args.common.typed.count("--baselines") == 0) {
    FATUNE_TRY(const KernelRef reference, reference_kernel(catalog, operation));
    chosen.baselines =
        reference->manifest.name;  // no baseline of attention computes this operation
  }
  if (!resuming) FATUNE_TRY_STATUS(share_out(problems.size(), hosts, chosen));
  if (hosts.devices.size() > 1) chosen.device = distinct_devices(hosts.devices);
  const bool by_default = names.empty() && !recorded_kernels;
  FATUNE_TRY(
      RunPlan typed,
      resolve_plan(chosen, problems, by_default ? kernels_for_types(kernels, problems) : kernels));
  return resuming ? resumed_plan(args, std::move(recorded), typed) : typed;
}

/// Assigns devices to problems that are searched side by side, or GPUs to the candidates of one
/// problem.
Status choose_places(const SweepArgs& args, const SweepHosts& hosts, ReadySweep& ready) {
  std::vector<OpenRequest> requests;
  FATUNE_TRY(const std::size_t jobs, jobs_of_each(args, hosts.devices.size(), hosts.cores));
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
    return usage_error("--resume: this run used one device; resume it without mpirun or srun");
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

}  // namespace

Result<std::size_t> jobs_of_each(const SweepArgs& args, std::size_t sweeps, std::size_t cores) {
  FATUNE_TRY(std::size_t jobs, parse_jobs(args.jobs));
  const std::size_t shares = std::max<std::size_t>(1, sweeps);
  if (jobs == 0) return std::clamp<std::size_t>(cores / shares, 1, kMostJobs);
  return std::max<std::size_t>(jobs / shares, 1);
}

/// Names the kernels of --kernel. With --size alone, names every kernel of a custom operation.
std::vector<std::string> named_kernels(const SweepArgs& args,
                                       const std::vector<KernelRef>& catalog) {
  std::vector<std::string> names = args.kernels;
  if (!names.empty() || args.problem.sizes.empty()) return names;
  for (const KernelRef& kernel : catalog) {
    const Manifest& manifest = kernel->manifest;
    const bool custom = manifest.operation->declared() != nullptr;
    if (custom && manifest.role == Role::kAttention) names.push_back(manifest.name);
  }
  return names;
}

Result<ReadySweep> make_ready(const SweepArgs& args, const SweepHosts& hosts,
                              const std::vector<KernelRef>& catalog, const Settings& settings) {
  ReadySweep ready;
  FATUNE_TRY(ready.options.plan, plan_of(args, catalog, hosts));
  FATUNE_TRY(ready.kernels, choose_kernels(catalog, ready.options.plan.kernels));
  FATUNE_TRY(const OperationRef operation, operation_of(ready.kernels));
  FATUNE_TRY(ready.device.jobs, parse_jobs(args.jobs));
  ready.options.resume = !args.resume.empty();
  ready.options.finals_only = args.finals;
  if (args.finals && !ready.options.resume)
    return usage_error("--finals requires --resume, which names the run");
  ready.options.out = !args.resume.empty() ? args.resume
                      : !args.out.empty()  ? args.out
                                           : default_folder(ready.options.plan);
  ready.names_folder = ready.options.resume || !args.out.empty();
  ready.options.finals.seed = ready.options.plan.seed;
  ready.options.date = local_time();
  if (args.no_warm_start && !args.warm.empty())
    return usage_error("--warm and --no-warm-start exclude each other; leave one out");
  if (!args.no_warm_start && !ready.options.resume) {
    // A shard ignores runs beside its own, because those depend on time and host.
    const bool alone = ready.options.plan.shard.has_value();
    FATUNE_TRY(ready.options.known, known_configs(args.warm, alone ? "" : ready.options.out));
  }
  FATUNE_TRY(ready.imports, read_imports(args.imports));
  if (args.compile_only) return ready;
  const std::vector<std::string>& baselines = ready.options.plan.baselines;
  FATUNE_TRY(const KernelRef reference, reference_kernel(catalog, operation));
  ready.options.reference_is_baseline = names_reference(baselines, reference);
  FATUNE_TRY(ready.options.baselines, make_baselines(baselines, reference, catalog, settings));
  ready.device.reference = reference;
  ready.device.log_folder = ready.options.out;
  ready.device.problems = shard_problems(ready.options.plan);
  ready.device.catalog = catalog;
  FATUNE_TRY_STATUS(choose_places(args, hosts, ready));
  if (args.common.typed.count("--device") > 0)
    ready.device_words = " --device " + shell_word(args.device);
  ready.sanitize = args.sanitize;
  FATUNE_TRY(ready.serve, parse_serve(args.serve));
  return ready;
}

}  // namespace fatune::cli
