// sweep_plan.cpp - checks the options of a sweep and fills the plan.
#include "cli/options/sweep_plan.hpp"

#include <algorithm>
#include <limits>

#include <fmt/core.h>

#include "cli/options/baselines.hpp"
#include "core/text.hpp"
#include "out/page/live_server.hpp"
#include "search/strategies/strategy.hpp"
#include "tune/evaluate/evaluator.hpp"
#include "tune/sweep/standing.hpp"

namespace fatune::cli {
namespace {

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

}  // namespace

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
  const auto number = parse_integer(text);
  if (!number || *number < 1 || *number > 256)
    return usage_error("--jobs: '" + text + "' is not a number from 1 to 256");
  return static_cast<std::size_t>(*number);
}

Result<std::uint64_t> parse_seed(const std::string& text) {
  const auto number = parse_integer(text);
  if (!number || *number < 0)
    return usage_error("--seed: '" + text + "' is not a whole number from 0 to 2^63 - 1");
  return static_cast<std::uint64_t>(*number);
}

Result<std::optional<int>> parse_serve(const std::optional<std::string>& text) {
  if (!text) return std::optional<int>();
  if (text->empty()) return std::optional<int>(kLivePort);
  const auto port = parse_integer(*text);
  if (port && *port >= 0 && *port <= 65535) return std::optional<int>(static_cast<int>(*port));
  return usage_error("--serve: '" + *text +
                     "' is no port; give a number from 1 to 65535, or 0 for any "
                     "that is free");
}

Result<int> parse_rounds(const std::string& text) {
  const auto rounds = parse_integer(text);
  if (rounds && *rounds >= 10 && *rounds <= 10000) return static_cast<int>(*rounds);
  return usage_error("--rounds: '" + text +
                     "' is not a number from 10 to 10000; fewer than 10 give no interval");
}

Result<std::uint64_t> resolve_configs(const SweepArgs& args, std::size_t problems) {
  const int ways = int{args.one_config} + int{args.per_problem} + int{!args.portfolio.empty()};
  if (ways > 1)
    return usage_error("--one-config, --per-problem and --portfolio exclude each other");
  std::uint64_t configs = args.one_config ? 1 : 0;
  if (!args.portfolio.empty()) {
    const auto number = parse_integer(args.portfolio);
    if (!number || *number < 1)
      return usage_error("--portfolio: '" + args.portfolio +
                         "' is not a whole number of at least 1");
    configs = static_cast<std::uint64_t>(*number);
  }
  if (configs == 0) return configs;
  const std::string flag = args.one_config ? "--one-config" : "--portfolio";
  if (problems < 2) return usage_error(flag + ": a single problem has its own config; add --suite");
  if (args.plan.objective == kScoreObjective)
    return usage_error(flag + " compares times; --objective score is of one problem");
  return configs;
}

Result<RunPlan> resolve_plan(const SweepArgs& args, const std::vector<NamedProblem>& problems,
                             const std::vector<KernelRef>& kernels) {
  RunPlan plan = args.plan;
  plan.problems = problems;
  for (const KernelRef& kernel : kernels) plan.kernels.push_back(kernel->manifest.name);
  FATUNE_TRY_STATUS(check_strategy(plan.strategy));
  FATUNE_TRY_STATUS(check_one_lever(args));
  FATUNE_TRY_STATUS(check_objective(plan.objective));
  FATUNE_TRY(plan.configs, resolve_configs(args, problems.size()));
  FATUNE_TRY(plan.seed, parse_seed(args.seed));
  Budget budget;
  if (!args.budget.empty()) {
    FATUNE_TRY(budget, parse_budget(args.budget));
  } else if (args.plan.strategy == "exhaustive") {
    budget.evaluations = 0;
  }
  plan.budget_evaluations = budget.evaluations;
  plan.budget_seconds = budget.seconds;
  FATUNE_TRY(plan.baselines, parse_implementations("--baselines", args.baselines));
  plan.command = "fatune sweep" + repeat_options(sweep_table, args);
  return plan;
}

Status refuse_new_run_options(const SweepArgs& args) {
  SweepArgs copy = args;
  for (const OptionGroup& group : sweep_table(copy)) {
    for (const OptionRow& row : group.rows) {
      if (!row.resume.only_new_runs || args.typed.count(long_name(row)) == 0) continue;
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
      if (row.resume.take != nullptr && args.typed.count(long_name(row)) > 0)
        row.resume.take(recorded, typed);
    }
  }
  return recorded;
}

Result<FinalPlan> resolve_rounds(const RoundsArgs& args) {
  FinalPlan plan;
  FATUNE_TRY(plan.rounds, parse_rounds(args.rounds));
  FATUNE_TRY(plan.seed, parse_seed(args.seed));
  return plan;
}

}  // namespace fatune::cli
