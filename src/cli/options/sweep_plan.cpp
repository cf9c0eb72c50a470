// sweep_plan.cpp: Declares the options of sweep, compile, resume and finals, and makes the plan of
// a run.
#include "cli/options/sweep_plan.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "cli/options/launchers.hpp"
#include "cli/options/problems.hpp"
#include "core/text.hpp"
#include "report/page/live_server.hpp"
#include "search/strategies/strategy.hpp"
#include "tune/sweep/finals.hpp"

namespace fatune::cli {
namespace {

constexpr std::uint64_t kUsualBudget = 150;
constexpr std::uint64_t kUsualPatience = 60;  // chosen on recorded spaces: decision 0014
constexpr const char* kUsualBaselines = "naive,cudnn,torch:flash";
constexpr unsigned kRunning = kSweep | kTune | kResume | kFinals;

OptionRow needs_search(OptionRow row) {
  row.needs_search = true;
  return row;
}

std::string strategy_help() {
  std::string text = "Choose the search strategy:";
  for (const StrategyInfo& info : strategies())
    text += "\n" + std::string(info.name) + ": " + std::string(info.summary);
  return text;
}

OptionTable search_table(SweepArgs& a) {
  return {
      {"Search",
       {{"--kernel", &a.kernels, "KERNEL,...",
         "Take only these kernels, comma-separated [kernels whose manifest has tuned_by_default]",
         Repeat::kChanged, kSweep | kCompile},
        needs_search({"--strategy", &a.strategy, "STRATEGY", strategy_help()}),
        needs_search({"--one-lever", &a.one_lever, "",
                      "Change exactly one parameter in each move (evo, ga)"}),
        {"--budget", &a.budget, "N",
         fmt::format("End the search of each problem after N candidates or a time (60s, 5m). 0 "
                     "takes known configs without a search. Without --budget, the limit is {}; "
                     "exhaustive has none, and evo also ends when {} candidates in a row are not "
                     "faster",
                     kUsualBudget, kUsualPatience)},
        {"--budget", &a.budget, "N",
         fmt::format("Compile at most N configs of each kernel and problem [{}]", kUsualBudget),
         Repeat::kNo, kCompile},
        {"--baselines", &a.baselines, "IMPL,...",
         fmt::format("Measure these implementations in the final phase, beside the winners: "
                     "kernels, libraries, python:FILE:FUNCTION, for a custom operation torch:EXPR, "
                     "or none [{}; for a custom operation its reference kernel]",
                     kUsualBaselines)},
        {"--objective", &a.objective, "in_layer|hot|cold|score",
         "Rank the finalists by this measure:\n"
         "in_layer: time between the two GEMMs of a layer\n"
         "hot: time of back-to-back launches with warm caches\n"
         "cold: time after a flush of the L2 cache\n"
         "score: speed and use of the device, from hardware counters"},
        {"--shard", &a.shard, "I/N",
         "Sweep only part I of N of the problems; `fatune merge` joins the parts. auto takes I and "
         "N from Slurm; auto/N also takes I from Kubernetes"}}}};
}

OptionTable start_table(SweepArgs& a) {
  return {
      {"Configs to start from",
       {{"--warm", &a.warm, "PATH",
         "Also start from the best configs of this best.json, journal or run folder (repeatable)"},
        {"--import", &a.imports, "FILE",
         "Also start from another tuner's best configs that map onto a kernel: a Kernel Tuner "
         "cache, T4 or KTT results, or a journal (repeatable)"},
        needs_search(
            {"--no-warm-start", &a.no_warm_start, "",
             "Start without known configs of fatune and of runs in --out's parent folder"})}}};
}

OptionTable run_table(SweepArgs& a) {
  return {{"Run",
           {required({"RUN", &a.run, "", "Continue the run in this folder", Repeat::kNo,
                      kResume | kFinals}),
            {"--seed", &a.seed, "N",
             "Seed every random choice: configs, test inputs and measuring order", Repeat::kAlways,
             kSweep | kTune | kCompile},
            {"--arch", &a.arch, "sm_XX", "Compile for this architecture", Repeat::kNo, kCompile},
            {"--out", &a.out, "DIR", "Write the run to this folder [runs/DATE-TIME-PROBLEM]",
             Repeat::kNo},
            {"--record-cold", &a.record_cold, "",
             "Take the cold time of every candidate, not only of the finalists"},
            {"--skip-correctness", &a.skip_correctness, "",
             "Skip the correctness gates; every output records this option"},
            {"--sanitize", &a.sanitize, "",
             "Run each winner under compute-sanitizer and write the verdict to best.json",
             Repeat::kNo, kRunning},
            {"--serve", &a.serve, "[PORT]",
             "Serve a live page of the run on this port of 127.0.0.1 [8712]. 0: any free port",
             Repeat::kNo, kRunning},
            {"--jobs", &a.jobs, "N",
             "Run N compiler processes at a time [one for each core, at most 16 for each GPU]",
             Repeat::kNo, kRunning | kCompile}}}};
}

Status check_strategy(const std::string& name) {
  std::vector<std::string> known;
  for (const StrategyInfo& info : strategies()) {
    if (info.name == name) return {};
    known.emplace_back(info.name);
  }
  auto nearest = nearest_name(name, known);
  for (const StrategyInfo& info : strategies()) {  // "genetic": ga
    if (!nearest && info.summary.find(name) != std::string_view::npos) nearest = info.name;
  }
  return usage_error("--strategy: '" + name + "' is not one of " + join(known, ", ") +
                     (nearest ? "; did you mean " + *nearest + "?" : ""));
}

Status check_one_lever(const std::string& strategy) {
  std::vector<std::string> keepers;
  for (const StrategyInfo& info : strategies()) {
    if (info.keeps_one_lever && info.name == strategy) return {};
    if (info.keeps_one_lever) keepers.emplace_back(info.name);
  }
  return usage_error("--one-lever: the strategy '" + strategy +
                     "' does not support it; choose --strategy " + join(keepers, " or "));
}

/// Limit of the search of each problem. 0 evaluations: no limit.
struct Budget {
  std::uint64_t evaluations = 0;
  std::optional<double> seconds;
};

/// Parses "150", which is candidates, or "60s", "5m" and "2h", which are time.
Result<Budget> parse_budget(const std::string& text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}};
  const auto unit =
      std::ranges::find_if(kUnits, [&](const auto& each) { return text.ends_with(each.first); });
  const bool time = unit != std::end(kUnits);
  const auto number = parse_number(time ? text.substr(0, text.size() - unit->first.size()) : text);
  if (number && *number > 0 && time) return Budget{0, *number * unit->second};
  if (number && *number == 0 && time)
    return usage_error("--budget: '" + text + "' leaves no time; --budget 0 skips the search");
  if (number && *number > 0 && parse_integer(text))
    return Budget{static_cast<std::uint64_t>(*number), {}};
  return usage_error("--budget: '" + text +
                     "' is neither a number of candidates (150) nor a time (60s, 5m, 2h)");
}

/// Refuses options that --budget 0 makes meaningless: it searches nothing and needs known configs.
Status check_known_only(const SweepArgs& args) {
  const std::string flag =
      first_typed(verb_table<kSweep>, args, args.common.typed, &OptionRow::needs_search);
  if (flag.empty()) return {};
  return usage_error("--budget 0 takes known configs and searches nothing; leave out " + flag);
}

Status resolve_search(const SweepArgs& args, RunPlan& plan) {
  FATUNE_TRY_STATUS(check_strategy(args.strategy));
  if (args.one_lever) FATUNE_TRY_STATUS(check_one_lever(args.strategy));
  auto objective = parse_objective(args.objective);
  if (!objective) return usage_error("--objective: " + objective.error().message);
  plan.strategy = args.strategy;
  plan.one_lever = args.one_lever;
  plan.objective = *objective;
  plan.record_cold = args.record_cold;
  plan.skip_correctness = args.skip_correctness;
  plan.budget_evaluations = plan.strategy == "exhaustive" ? 0 : kUsualBudget;
  if (args.budget == "0") {
    FATUNE_TRY_STATUS(check_known_only(args));
    plan.strategy = kKnownStrategy;
    plan.budget_evaluations = 0;
  } else if (!args.budget.empty()) {
    FATUNE_TRY(const Budget budget, parse_budget(args.budget));
    plan.budget_evaluations = budget.evaluations;
    plan.budget_seconds = budget.seconds;
  } else if (plan.strategy == "evo") {
    plan.patience = kUsualPatience;
  }
  return {};
}

/// Part of the plan that --shard names. On several devices all problems are one part: each is then
/// searched by itself, so that the result does not depend on the number of devices.
Result<std::optional<Shard>> part_of(const std::string& text, const RunPlan& plan,
                                     const SweepHosts& hosts) {
  const bool shared = hosts.several() && (hosts.ranks || plan.problems.size() > 1);
  if (!text.empty() || !shared) return resolve_shard(text, plan);
  if (plan.objective == Objective::kScore)
    return usage_error(
        "--objective score reads the counters of one device; name one with --device");
  return resolve_shard("1/1", plan);
}

/// Distinct names of devices, which tell the measured devices but not their number.
std::string distinct(const std::vector<std::string>& devices) {
  std::vector<std::string> names;
  for (const std::string& device : devices) {
    if (std::ranges::count(names, device) == 0) names.push_back(device);
  }
  return join(names, ",");
}

}  // namespace

OptionTable sweep_options(SweepArgs& a) {
  return tables({given_to(kSweep | kCompile, problem_table(a.problem)), search_table(a),
                 start_table(a), run_table(a), given_to(kRunning, devices_table(a.device)),
                 given_to(kRunning | kCompile, common_table(a.common))});
}

Result<SweepUse> resolve_use(const SweepArgs& args) {
  SweepUse use;
  use.device = args.device;
  use.names_device = args.common.typed.contains("--device");
  use.ranks = args.shard.empty() ? launched_ranks(environment) : 1;
  use.kernels = args.kernels;
  use.custom = args.kernels.empty() && !args.problem.sizes.empty();
  FATUNE_TRY(use.jobs, parse_jobs(args.jobs));
  use.sanitize = args.sanitize;
  if (!args.serve) return use;
  use.serve = kLivePort;
  if (args.serve->empty()) return use;
  const auto port = whole_number("--serve", *args.serve, 0, 65535);
  if (!port) return usage_error(port.error().message + "; 0 takes any free port");
  use.serve = static_cast<int>(*port);
  return use;
}

Result<std::vector<KernelRef>> used_kernels(const SweepUse& use, const Catalog& catalog) {
  std::vector<std::string> names = use.kernels;
  for (const KernelRef& kernel : catalog) {
    const Manifest& manifest = kernel->manifest;
    const bool custom = manifest.operation->declared() != nullptr;
    if (use.custom && custom && manifest.role == Role::kAttention) names.push_back(manifest.name);
  }
  return choose_kernels(catalog, names);
}

Result<SweepSubject> resolve_subject(const SweepUse& use, const ProblemArgs& problem,
                                     const Catalog& catalog) {
  SweepSubject subject;
  FATUNE_TRY(subject.kernels, used_kernels(use, catalog));
  FATUNE_TRY(subject.operation, operation_of(subject.kernels));
  FATUNE_TRY(subject.problems, resolve_problems(problem, subject.operation));
  if (use.kernels.empty() && !use.custom)
    subject.kernels = kernels_for_types(subject.kernels, subject.problems);
  return subject;
}

Result<RunPlan> resolve_plan(const SweepArgs& args, const SweepSubject& subject,
                             const KernelRef& reference, const SweepHosts& hosts) {
  RunPlan plan;
  FATUNE_TRY_STATUS(resolve_search(args, plan));
  plan.problems = subject.problems;
  for (const KernelRef& kernel : subject.kernels) plan.kernels.push_back(kernel->manifest.name);
  FATUNE_TRY(plan.shard, part_of(args.shard, plan, hosts));
  // No usual baseline of attention computes a custom operation.
  const bool custom = subject.operation->declared() != nullptr;
  const std::string usual = custom ? reference->manifest.name : kUsualBaselines;
  FATUNE_TRY(plan.baselines,
             parse_implementations("--baselines", args.baselines.empty() ? usual : args.baselines));
  FATUNE_TRY(plan.seed, parse_seed(args.seed));
  SweepArgs repeated = args;
  if (plan.shard) repeated.shard = describe(*plan.shard);
  if (hosts.devices.size() > 1) repeated.device = distinct(hosts.devices);
  plan.command = "fatune sweep" + repeat_options(verb_table<kSweep>, repeated);
  return plan;
}

}  // namespace fatune::cli
