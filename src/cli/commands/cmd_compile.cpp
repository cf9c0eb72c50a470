// cmd_compile.cpp: Compiles configs without a GPU, and prints resources and failures as a table.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/commands/documents.hpp"
#include "cli/options/catalog.hpp"
#include "cli/options/sweep_plan.hpp"
#include "core/fields.hpp"
#include "core/interrupt.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "model/space/space.hpp"
#include "search/strategies/strategy.hpp"
#include "tune/compile/pool.hpp"
#include "tune/evaluate/forecast.hpp"
#include "tune/sweep/problem_sweep.hpp"
#include "worker/protocol/machine_code.hpp"

namespace fatune::cli {
namespace {

/// Resources of a config from the compiler and the launch plan, in the form of a measurement.
Resources resources_of(const Problem& problem, const LaunchPlan& plan, const DeviceLimits& limits,
                       const Compiled& compiled) {
  Resources used = with_compiler_log(std::nullopt, compiled, plan).value_or(Resources{});
  const Forecast expected = forecast(problem, plan, limits, &compiled);
  if (!expected.stages.empty())
    used.blocks_per_sm = static_cast<int>(expected.stages.front().resident_blocks);
  return used;
}

/// Configs to compile, and the device that they are for.
struct CompileTask {
  DeviceLimits limits;
  std::uint64_t budget = RunPlan().budget_evaluations;  ///< configs of each kernel and problem
  std::uint64_t seed = 0;
};

/// Returns up to `budget` valid points in random order, so that a small budget covers the whole
/// space.
Result<std::vector<Point>> some_points(const Space& space, const CompileTask& task) {
  FATUNE_TRY(auto strategy, make_strategy("random", space.lattice(),
                                          {.seed = task.seed, .budget = task.budget, .start = {}}));
  return strategy->ask(static_cast<std::size_t>(std::min(task.budget, space.size())));
}

Status compile_space(const Space& space, const std::string& name, const CompileTask& task,
                     CompilePool& pool, std::vector<CompiledConfig>& results) {
  const DeviceLimits& limits = task.limits;
  FATUNE_TRY(const std::vector<Point> points, some_points(space, task));
  std::vector<Ticket> tickets;
  for (const Point& point : points)
    tickets.push_back(pool.submit(compile_request(space.candidate(point), limits)));
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    while (!pool.ready(tickets[i])) {
      if (interrupted())
        return Error{ErrorKind::kInterrupted, "interrupted; what was compiled is in the cache"};
      FATUNE_TRY_STATUS(pool.pump(std::chrono::milliseconds(200)));
    }
    const Candidate candidate = space.candidate(points[i]);
    CompiledConfig& result = results.emplace_back();
    result.problem = {name, candidate.problem};
    result.kernel = candidate.kernel->manifest.name;
    result.config = to_json(candidate.config);
    FATUNE_TRY(const LaunchPlan plan, launch_plan(candidate, limits));
    result.compiled = checked(pool.take(tickets[i]), plan);
    if (result.compiled.ok)
      result.resources = resources_of(candidate.problem, plan, limits, result.compiled);
  }
  return {};
}

/// Results of one kernel's configs for one problem.
struct Group {
  std::string problem, kernel;
  std::size_t compiled = 0, failed = 0, spilled = 0;
  int low = 0, high = 0;  ///< registers
  std::set<std::string> programs{};
};

void add_to(Group& group, const CompiledConfig& result) {
  if (!result.resources) {
    ++group.failed;
    return;
  }
  const Resources& worst = *result.resources;
  ++group.compiled;
  group.spilled += worst.spill_store_bytes + worst.spill_load_bytes + worst.stack_bytes > 0 ? 1 : 0;
  group.low = group.low == 0 ? worst.registers : std::min(group.low, worst.registers);
  group.high = std::max(group.high, worst.registers);
  group.programs.insert(result.compiled.cubin_hash);
}

std::vector<Group> group_results(const std::vector<CompiledConfig>& results) {
  std::vector<Group> groups;
  for (const CompiledConfig& result : results) {
    const std::string problem = label(result.problem);
    const bool same = !groups.empty() && groups.back().problem == problem &&
                      groups.back().kernel == result.kernel;
    if (!same) groups.push_back({problem, result.kernel});
    add_to(groups.back(), result);
  }
  return groups;
}

std::string summary_text(const std::vector<CompiledConfig>& results, const Paint& paint) {
  Table table({"problem",
               "kernel",
               ">compiled",
               ">failed",
               {">with spills", kLastSpare},
               {">programs", 1},
               "registers"});
  for (const Group& g : group_results(results)) {
    table.add({g.problem, g.kernel, fmt::to_string(g.compiled), fmt::to_string(g.failed),
               fmt::to_string(g.spilled), fmt::to_string(g.programs.size()),
               fmt::format("{} to {}", g.low, g.high)});
  }
  std::string text = table.text(paint.columns());
  for (const CompiledConfig& r : results) {
    if (!r.compiled.ok)
      text += "compile_error: " + r.kernel + " " + describe_config(r.config) + ": " +
              r.compiled.problem + "\n";
  }
  return text;
}

/// Compiles configs of a problem. Leaves out kernels without a valid config.
Status compile_problem(const NamedProblem& named, const std::vector<KernelRef>& kernels,
                       const CompileTask& task, CompilePool& pool,
                       std::vector<CompiledConfig>& results) {
  ProblemResult facts;
  facts.problem = named;
  FATUNE_TRY(const KernelSpaces built, build_spaces(kernels, task.limits, facts));
  for (const Space& space : built.spaces)
    FATUNE_TRY_STATUS(compile_space(space, named.name, task, pool, results));
  for (const std::string& reason : facts.left_out)
    log::info("left out for " + label(named) + ": " + reason);
  return {};
}

/// Compiles what can be compiled, and leaves out the other problems; none left is an error.
Status compile_problems(const SweepSubject& subject, const CompileTask& task, CompilePool& pool,
                        std::vector<CompiledConfig>& results) {
  std::vector<std::string> left_out;
  for (const NamedProblem& named : subject.problems) {
    Status done = compile_problem(named, subject.kernels, task, pool, results);
    if (!done && done.error().kind != ErrorKind::kImpossible) return done;
    if (!done)
      left_out.push_back(named.name + (named.name.empty() ? "" : ": ") + done.error().message);
  }
  if (results.empty()) return impossible_error(join(left_out, "\n"));
  for (const std::string& reason : left_out) log::warn("left out: " + reason);
  return {};
}

Result<int> run_compile(const SweepArgs& args, const Settings& settings) {
  FATUNE_TRY(const SweepUse use, resolve_use(args));
  if (use.ranks > 1)
    return usage_error("compile runs in one process; start it without mpirun or srun");
  FATUNE_TRY(const auto catalog, load_catalog(settings));
  FATUNE_TRY(const SweepSubject subject, resolve_subject(use, args.problem, catalog));
  FATUNE_TRY(const Arch arch, parse_arch(args.arch));
  CompileTask task;
  FATUNE_TRY(task.limits, typical_limits(arch));
  FATUNE_TRY(task.seed, parse_seed(args.seed));
  if (!args.budget.empty()) {
    FATUNE_TRY(const std::int64_t most, whole_number("--budget", args.budget, 1));
    task.budget = static_cast<std::uint64_t>(most);
  }
  FATUNE_TRY(CompilePool pool, open_pool(settings, use.jobs));
  std::vector<CompiledConfig> results;
  FATUNE_TRY_STATUS(compile_problems(subject, task, pool, results));
  const bool all = std::all_of(results.begin(), results.end(),
                               [](const CompiledConfig& r) { return r.compiled.ok; });
  const CompileDocument document{settings.head, name(arch), pool.compiler_version(), results};
  print(settings.json
            ? dump_pretty(to_json(document))
            : fmt::format("compiled for {} with NVRTC {}, nothing was run\n{}", document.arch,
                          document.nvrtc, summary_text(results, settings.paint)));
  return all ? kDone : kAnswerIsNo;
}

}  // namespace

Runner setup_compile(CLI::App& command) {
  return make_runner(command, verb_table<kCompile>,
                     "fatune compile --shape 4,8,512,64 --arch sm_90a --budget 40", run_compile);
}

}  // namespace fatune::cli
