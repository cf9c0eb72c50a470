// sweep_plan.cpp: Declares the options of `fatune sweep`, makes its plan, and loads known configs.
#include "cli/options/sweep_plan.hpp"

#include <algorithm>
#include <limits>

#include <fmt/core.h>

#include "cli/options/catalog.hpp"
#include "cli/options/shard.hpp"
#include "core/embedded.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "report/page/live_server.hpp"
#include "report/text/cells.hpp"
#include "search/strategies/strategy.hpp"
#include "tune/evaluate/evaluator.hpp"
#include "tune/sweep/finals.hpp"
#include "tune/sweep/warm_start.hpp"

namespace fatune::cli {
namespace {

constexpr std::uint64_t kUsualPatience = 60;  // chosen on recorded spaces: decision 0014

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
         "Tune these kernels, comma-separated [the kernels tuned by default]", Repeat::kChanged,
         kSameAsRun<&RunPlan::kernels>},
        {"--strategy", &a.plan.strategy, "STRATEGY", strategy_help(), Repeat::kChanged,
         kSameAsRun<&RunPlan::strategy>},
        {"--one-lever", &a.plan.one_lever, "",
         "Change exactly one parameter in each move (evo, ga)", Repeat::kChanged,
         kSameAsRun<&RunPlan::one_lever>},
        {"--budget", &a.budget, "N",
         fmt::format("Limit each problem to this many candidates (150) or this long (60s, 5m). 0 "
                     "takes known configs without a search [150; evo ends after {} in a row "
                     "without a faster config; exhaustive tries all]",
                     kUsualPatience),
         Repeat::kChanged,
         kSameAsRun<&RunPlan::budget_evaluations, &RunPlan::budget_seconds, &RunPlan::patience>},
        {"--baselines", &a.baselines, "IMPL,...",
         "Measure these implementations beside the winners, also python:FILE:FUNCTION. none: no "
         "baseline",
         Repeat::kChanged, kSameAsRun<&RunPlan::baselines>},
        {"--objective", &a.plan.objective, "in_layer|hot|cold|score",
         "Rank the finals by the time between two matrix products, hot or cold latency, or a score "
         "of speed and device use",
         Repeat::kChanged, kSameAsRun<&RunPlan::objective>},
        {"--shard", &a.shard, "I/N",
         "Sweep only part I of N of the problems; `fatune merge` joins the parts. auto takes I and "
         "N from Slurm; auto/N also takes I from Kubernetes",
         Repeat::kChanged, kSameAsRun<&RunPlan::shard>}}}};
}

OptionTable start_table(SweepArgs& a) {
  return {
      {"Configs to start from",
       {{"--warm", &a.warm, "PATH",
         "Also start from the best configs of this best.json, journal or run folder (repeatable)",
         Repeat::kChanged, kOnlyNewRuns},
        {"--import", &a.imports, "FILE",
         "Also start from another tuner's best configs that map onto a kernel: a Kernel Tuner "
         "cache, T4 or KTT results, or a journal (repeatable)",
         Repeat::kChanged, kOnlyNewRuns},
        {"--no-warm-start", &a.no_warm_start, "",
         "Start without known configs, neither from earlier runs beside this run nor from fatune "
         "itself",
         Repeat::kChanged, kOnlyNewRuns}}}};
}

OptionTable run_table(SweepArgs& a) {
  return {
      {"Run",
       {{"--seed", &a.seed, "N", "Seed the search, the inputs and the final rounds",
         Repeat::kAlways, kSameAsRun<&RunPlan::seed>},
        {"--out", &a.out, "DIR", "Write the run to this folder [runs/DATE-TIME-PROBLEM]",
         Repeat::kNo, kOnlyNewRuns},
        {"--resume", &a.resume, "DIR",
         "Continue the run in this folder without repeating finished work"},
        {"--finals", &a.finals, "",
         "With --resume, skip the search and run the final phase only; rerun it where a baseline "
         "was unavailable"},
        {"--record-cold", &a.plan.record_cold, "",
         "Measure every candidate cold, not only the finalists", Repeat::kChanged,
         kSameAsRun<&RunPlan::record_cold>},
        {"--skip-correctness", &a.plan.skip_correctness, "",
         "Skip the correctness gates; every output records this option", Repeat::kChanged,
         kSameAsRun<&RunPlan::skip_correctness>},
        {"--sanitize", &a.sanitize, "",
         "Run the winner under compute-sanitizer and write the verdict to best.json"},
        {"--serve", &a.serve, "[PORT]",
         "Serve a page of the running search on 127.0.0.1 only, at this port [8712]. 0: any free "
         "port"},
        {"--jobs", &a.jobs, "N", "Run this many compile processes [cores, at most 16 a GPU]"}}},
      {"Without a GPU",
       {{"--compile-only", &a.compile_only, "",
         "Compile, show resources and run nothing, without a GPU; --budget applies to each kernel"},
        {"--arch", &a.arch, "sm_XX",
         "Compile for this architecture with --compile-only [sm_90a]"}}}};
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

Status check_one_lever(const SweepArgs& args) {
  std::vector<std::string> keepers;
  for (const StrategyInfo& info : strategies()) {
    if (info.keeps_one_lever) keepers.emplace_back(info.name);
  }
  const bool keeps = std::find(keepers.begin(), keepers.end(), args.plan.strategy) != keepers.end();
  if (!args.plan.one_lever || keeps) return {};
  return usage_error("--one-lever: the strategy '" + args.plan.strategy +
                     "' does not support it; choose --strategy " + join(keepers, " or "));
}

/// Refuses options that --budget 0 makes meaningless: it searches nothing and needs known configs.
Status check_known_only(const SweepArgs& args) {
  for (const char* flag : {"--no-warm-start", "--strategy", "--one-lever", "--compile-only"}) {
    if (args.common.typed.count(flag) > 0) {
      return usage_error(
          fmt::format("--budget 0 takes known configs and searches nothing; leave out {}", flag));
    }
  }
  return {};
}

void append(std::vector<SavedConfig>& known, std::vector<SavedConfig> more) {
  std::move(more.begin(), more.end(), std::back_inserter(known));
}

/// Folder that holds the run's folder. Relative paths stay relative, because the journal records
/// sources.
std::filesystem::path folder_of(std::filesystem::path run) {
  if (!run.has_filename()) run = run.parent_path();
  const std::filesystem::path folder = run.parent_path();
  return folder.empty() ? "." : folder;
}

constexpr std::string_view kShippedFolder = "configs/known/";

}  // namespace

OptionTable sweep_table(SweepArgs& a) {
  return tables({problem_table(a.problem), search_table(a), start_table(a), run_table(a),
                 devices_table(a.device), common_table(a.common)});
}

Result<Budget> parse_budget(const std::string& text) {
  const Error wrong = usage_error("--budget: '" + text +
                                  "' is neither a number of candidates (150) nor a time (60s, 5m)");
  Budget budget;
  if (!text.empty() && (text.back() == 's' || text.back() == 'm')) {
    const auto number = parse_number(text.substr(0, text.size() - 1));
    if (!number || *number <= 0) return wrong;
    budget.seconds = *number * (text.back() == 'm' ? 60 : 1);
    budget.evaluations = 0;  // no limit beside the time
    return budget;
  }
  const auto number = parse_integer(text);
  if (!number || *number < 1) return wrong;
  budget.evaluations = static_cast<std::uint64_t>(*number);
  return budget;
}

Result<std::size_t> parse_jobs(const std::string& text) {
  if (text.empty()) return std::size_t{0};
  FATUNE_TRY(const std::int64_t number, whole_number("--jobs", text, 1, 256));
  return static_cast<std::size_t>(number);
}

Result<std::uint64_t> parse_seed(const std::string& text) {
  FATUNE_TRY(const std::int64_t number, whole_number("--seed", text, 0));
  return static_cast<std::uint64_t>(number);
}

Result<std::optional<int>> parse_serve(const std::optional<std::string>& text) {
  if (!text) return std::optional<int>();
  if (text->empty()) return std::optional<int>(kLivePort);
  const auto port = whole_number("--serve", *text, 0, 65535);
  if (!port) return usage_error(port.error().message + "; 0 takes any free port");
  return std::optional<int>(static_cast<int>(*port));
}

Result<RunPlan> resolve_plan(const SweepArgs& args, const std::vector<NamedProblem>& problems,
                             const std::vector<KernelRef>& kernels) {
  RunPlan plan = args.plan;
  plan.problems = problems;
  for (const KernelRef& kernel : kernels) plan.kernels.push_back(kernel->manifest.name);
  FATUNE_TRY_STATUS(check_strategy(plan.strategy));
  FATUNE_TRY_STATUS(check_one_lever(args));
  FATUNE_TRY_STATUS(check_objective(plan.objective));
  FATUNE_TRY(plan.seed, parse_seed(args.seed));
  Budget budget;
  if (args.budget == "0") {
    FATUNE_TRY_STATUS(check_known_only(args));
    plan.strategy = kKnownStrategy;
    budget.evaluations = 0;
  } else if (!args.budget.empty()) {
    FATUNE_TRY(budget, parse_budget(args.budget));
  } else if (args.plan.strategy == "exhaustive") {
    budget.evaluations = 0;
  } else if (args.plan.strategy == "evo") {
    plan.patience = kUsualPatience;
  }
  plan.budget_evaluations = budget.evaluations;
  plan.budget_seconds = budget.seconds;
  FATUNE_TRY(plan.shard, resolve_shard(args.shard, plan));
  FATUNE_TRY(plan.baselines, parse_implementations("--baselines", args.baselines));
  SweepArgs repeated = args;
  if (plan.shard) repeated.shard = describe(*plan.shard);
  plan.command = "fatune sweep" + repeat_options(sweep_table, repeated);
  return plan;
}

Status refuse_new_run_options(const SweepArgs& args) {
  SweepArgs copy = args;
  for (const OptionGroup& group : sweep_table(copy)) {
    for (const OptionRow& row : group.rows) {
      if (!row.resume.only_new_runs || args.common.typed.count(long_name(row)) == 0) continue;
      return usage_error(
          fmt::format("--resume continues the run as it began; leave out {}, which is for new runs",
                      long_name(row)));
    }
  }
  return {};
}

RunPlan resumed_plan(const SweepArgs& args, RunPlan recorded, const RunPlan& typed) {
  SweepArgs copy = args;
  for (const OptionGroup& group : sweep_table(copy)) {
    for (const OptionRow& row : group.rows) {
      if (row.resume.take != nullptr && args.common.typed.count(long_name(row)) > 0)
        row.resume.take(recorded, typed);
    }
  }
  return recorded;
}

Result<FinalPlan> resolve_rounds(const RoundsArgs& args) {
  FinalPlan plan;
  const auto rounds = whole_number("--rounds", args.rounds, 10, 10000);
  if (!rounds) return usage_error(rounds.error().message + "; fewer than 10 give no interval");
  plan.rounds = static_cast<int>(*rounds);
  FATUNE_TRY(plan.seed, parse_seed(args.seed));
  return plan;
}

Result<std::vector<SavedConfig>> shipped_configs() {
  std::vector<SavedConfig> known;
  for (const EmbeddedFile& file : embedded_known_files()) {
    FATUNE_TRY(std::vector<SavedConfig> shipped, parse_known(file.text, std::string(file.path)));
    for (SavedConfig& each : shipped) {
      each.source = fmt::format("{}{} ({})", kShippedFolder, file.path, each.source);
    }
    append(known, std::move(shipped));
  }
  return known;
}

Result<std::vector<SavedConfig>> known_configs(const std::vector<std::string>& paths,
                                               const std::filesystem::path& own_folder) {
  std::vector<SavedConfig> known;
  for (const std::string& path : paths) {
    auto loaded = load_known(path);
    if (!loaded) return Error{loaded.error().kind, "--warm: " + loaded.error().message};
    append(known, *std::move(loaded));
  }
  if (!own_folder.empty()) append(known, known_of_runs(folder_of(own_folder), own_folder));
  FATUNE_TRY(auto shipped, shipped_configs());
  append(known, std::move(shipped));
  return known;
}

std::string known_notice(const RunPlan& plan, const std::vector<SavedConfig>& known,
                         const Arch& arch) {
  std::vector<SavedConfig> first;
  std::vector<std::string> without;
  const std::vector<NamedProblem> problems = shard_problems(plan);
  for (const NamedProblem& named : problems) {
    auto exact = known_exactly(known, plan.kernels, named.problem, arch);
    if (exact.empty()) {
      without.push_back(label(named));
    } else {
      first.push_back(std::move(exact.front()));
    }
  }
  if (plan.strategy == kKnownStrategy) {
    if (without.empty()) return "";
    return fmt::format(
        "no config is known for exactly {}; --budget 0 takes the nearest known configs and the "
        "defaults",
        join(without, "; "));
  }
  if (first.empty()) return "";
  if (problems.size() > 1) {
    return fmt::format(
        "known: an exact config for {} of {} problems; --budget 0 takes the known configs",
        first.size(), problems.size());
  }
  const SavedConfig& best = first.front();
  std::string text = fmt::format("known: {} for exactly {}", best.kernel, describe(*best.problem));
  if (best.median_us)
    text += fmt::format(", {} {}", describe(Micros(*best.median_us)), time_words(best.time));
  return text + fmt::format(", from {}; --budget 0 takes it", best.source);
}

}  // namespace fatune::cli
