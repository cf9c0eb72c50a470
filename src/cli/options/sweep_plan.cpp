// sweep_plan.cpp - the options of `fatune sweep`, the plan that they fill, and the known configs
// from files, folders and the program itself.
#include "cli/options/sweep_plan.hpp"

#include <algorithm>
#include <limits>

#include <fmt/core.h>

#include "cli/options/catalog.hpp"
#include "cli/options/shard.hpp"
#include "core/embedded.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "out/page/live_server.hpp"
#include "out/text/cells.hpp"
#include "search/strategies/strategy.hpp"
#include "tune/evaluate/evaluator.hpp"
#include "tune/sweep/finals.hpp"
#include "tune/sweep/warm_start.hpp"

namespace fatune::cli {
namespace {

constexpr std::uint64_t kUsualPatience = 60;  // chosen on recorded spaces: decision 0014

std::string strategy_help() {
  std::string text = "How to search:";
  for (const StrategyInfo& info : strategies())
    text += "\n" + std::string(info.name) + ": " + std::string(info.summary);
  return text;
}

OptionTable search_table(SweepArgs& a) {
  return {
      {"Search",
       {{"--kernel", &a.kernels, "KERNEL,...",
         "Kernels to tune, comma-separated [those tuned by default]", Repeat::kChanged,
         kSameAsRun<&RunPlan::kernels>},
        {"--strategy", &a.plan.strategy, "STRATEGY", strategy_help(), Repeat::kChanged,
         kSameAsRun<&RunPlan::strategy>},
        {"--one-lever", &a.plan.one_lever, "", "Each move changes exactly one parameter (evo, ga)",
         Repeat::kChanged, kSameAsRun<&RunPlan::one_lever>},
        {"--budget", &a.budget, "N",
         fmt::format("For each problem: candidates (150), time (60s, 5m), or 0: no search, only "
                     "what is known [150, but evo ends after {} in a row that bring nothing "
                     "faster; everything if exhaustive]",
                     kUsualPatience),
         Repeat::kChanged,
         kSameAsRun<&RunPlan::budget_evaluations, &RunPlan::budget_seconds, &RunPlan::patience>},
        {"--baselines", &a.baselines, "IMPL,...",
         "Implementations measured beside the winners; none for none", Repeat::kChanged,
         kSameAsRun<&RunPlan::baselines>},
        {"--objective", &a.plan.objective, "in_layer|hot|cold|score",
         "What the final phase ranks by: time between two products, hot or cold latency, or score "
         "of speed and use of the device",
         Repeat::kChanged, kSameAsRun<&RunPlan::objective>},
        {"--shard", &a.shard, "I/N",
         "Sweep only the I-th of N parts of the problems; `fatune merge` joins them. auto takes I "
         "and N from Slurm; auto/N takes I from Kubernetes, too",
         Repeat::kChanged, kSameAsRun<&RunPlan::shard>}}}};
}

OptionTable start_table(SweepArgs& a) {
  return {{"Configs to start from",
           {{"--warm", &a.warm, "PATH",
             "The best configs of this best.json, journal or run's folder, too (repeatable)",
             Repeat::kChanged, kOnlyNewRuns},
            {"--import", &a.imports, "FILE",
             "The best configs of another tuner's results, where they map: a Kernel Tuner "
             "cache, T4 or KTT results, a journal (repeatable)",
             Repeat::kChanged, kOnlyNewRuns},
            {"--no-warm-start", &a.no_warm_start, "",
             "None that were best elsewhere: neither of earlier runs beside this one, nor "
             "of those that ship with fatune",
             Repeat::kChanged, kOnlyNewRuns}}}};
}

OptionTable run_table(SweepArgs& a) {
  return {
      {"Run",
       {{"--seed", &a.seed, "N", "Seed of the search, the inputs and the final rounds",
         Repeat::kAlways, kSameAsRun<&RunPlan::seed>},
        {"--out", &a.out, "DIR", "Folder of the run [runs/DATE-TIME-PROBLEM]", Repeat::kNo,
         kOnlyNewRuns},
        {"--resume", &a.resume, "DIR", "Continue the run in this folder; repeats nothing"},
        {"--finals", &a.finals, "",
         "With --resume: the final phase of what was searched so far, and no more; once more where "
         "a baseline was not there"},
        {"--record-cold", &a.plan.record_cold, "",
         "Measure every candidate cold too, not only finalists", Repeat::kChanged,
         kSameAsRun<&RunPlan::record_cold>},
        {"--skip-correctness", &a.plan.skip_correctness, "",
         "Do not check results; every output is marked with it", Repeat::kChanged,
         kSameAsRun<&RunPlan::skip_correctness>},
        {"--sanitize", &a.sanitize, "",
         "Run the winner under compute-sanitizer; best.json has what it says"},
        {"--serve", &a.serve, "[PORT]",
         "Show the search as a page while it runs, on 127.0.0.1 only: at this port "
         "[8712]; 0: any that is free"},
        {"--jobs", &a.jobs, "N", "Compile processes [cores, at most 16 a GPU]"}}},
      {"Without a GPU",
       {{"--compile-only", &a.compile_only, "",
         "Compile, show resources, run nothing; needs no GPU; --budget is of each kernel"},
        {"--arch", &a.arch, "sm_XX", "Architecture for --compile-only [sm_90a]"}}}};
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
                     "' does not know it; --strategy takes " + join(keepers, " or "));
}

/// --budget 0 leaves nothing to search, and needs what --no-warm-start leaves out.
Status check_known_only(const SweepArgs& args) {
  for (const char* flag : {"--no-warm-start", "--strategy", "--one-lever", "--compile-only"}) {
    if (args.common.typed.count(flag) > 0) {
      return usage_error(
          fmt::format("--budget 0 takes what is known and searches nothing; leave out {}", flag));
    }
  }
  return {};
}

void append(std::vector<SavedConfig>& known, std::vector<SavedConfig> more) {
  std::move(more.begin(), more.end(), std::back_inserter(known));
}

/// Relative where the run's folder is: sources are written down, and should read alike elsewhere.
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
  if (!port) return usage_error(port.error().message + ", as a port is; 0: any that is free");
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
          fmt::format("--resume goes on as the run began; {} is for new runs", long_name(row)));
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
    return fmt::format("nothing is known for exactly {}; --budget 0 takes the nearest and defaults",
                       join(without, "; "));
  }
  if (first.empty()) return "";
  if (problems.size() > 1) {
    return fmt::format(
        "known: a config for exactly each of {} of {} problems; --budget 0 takes what is known",
        first.size(), problems.size());
  }
  const SavedConfig& best = first.front();
  std::string text = fmt::format("known: {} for exactly {}", best.kernel, describe(*best.problem));
  if (best.median_us)
    text += fmt::format(", {} {}", describe(Micros(*best.median_us)), time_words(best.time));
  return text + fmt::format(", from {}; --budget 0 takes it", best.source);
}

}  // namespace fatune::cli
