// cmd_compile.cpp: Compiles configs without a GPU, and prints resources and failures as a table.
#include <algorithm>
#include <chrono>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/commands/documents.hpp"
#include "cli/commands/live_progress.hpp"
#include "cli/options/catalog.hpp"
#include "cli/options/sweep_plan.hpp"
#include "core/fields.hpp"
#include "core/interrupt.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "model/kernel/runtime_sizes.hpp"
#include "model/space/lint.hpp"
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

/// Compiles configs, shows progress, and keeps the results, also those of an interrupted command.
class Compilation {
 public:
  Compilation(CompileTask task, CompilePool& pool, const Settings& settings)
      : task_(task), pool_(pool), display_(settings) {
    progress_.has_best = false;
  }

  /// Compiles what can be compiled, and leaves out the other problems; none left is an error.
  Status run(const SweepSubject& subject);
  std::vector<CompiledConfig> results() && { return std::move(results_); }

 private:
  Status compile_problem(const NamedProblem& named, const std::vector<KernelRef>& kernels);
  Status compile_space(const Space& space, const NamedProblem& named);
  Status take(const Candidate& candidate, const NamedProblem& named, Compiled compiled);
  void show();

  CompileTask task_;
  CompilePool& pool_;
  LiveProgress display_;
  SweepProgress progress_ = {};
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::vector<CompiledConfig> results_;
};

void Compilation::show() {
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - began_;
  progress_.elapsed_s = elapsed.count();
  display_.show(progress_);
}

Status Compilation::take(const Candidate& candidate, const NamedProblem& named, Compiled compiled) {
  FATUNE_TRY(const LaunchPlan plan, launch_plan(candidate, task_.limits));
  CompiledConfig& result = results_.emplace_back();
  result.problem = named;
  result.kernel = candidate.kernel->manifest.name;
  result.config = to_json(candidate.config);
  result.compiled = checked(std::move(compiled), plan);
  result.compiled.problem += compile_hint(candidate.kernel->manifest, result.compiled.problem);
  if (result.compiled.ok) {
    result.resources = resources_of(named.problem, plan, task_.limits, result.compiled);
  } else {
    ++progress_.outcomes[Outcome::kCompileError];
  }
  ++progress_.done;
  return {};
}

Status Compilation::compile_space(const Space& space, const NamedProblem& named) {
  FATUNE_TRY(const std::vector<Point> points, some_points(space, task_));
  std::vector<Ticket> tickets;
  for (const Point& point : points)
    tickets.push_back(pool_.submit(compile_request(space.candidate(point), task_.limits)));
  progress_.phase = "compile " + space.kernel().manifest.name;
  progress_.done = 0;
  progress_.all = points.size();
  progress_.outcomes.clear();
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    while (!pool_.ready(tickets[i])) {
      if (interrupted()) return {};
      show();
      FATUNE_TRY_STATUS(pool_.pump(std::chrono::milliseconds(200)));
    }
    FATUNE_TRY_STATUS(take(space.candidate(points[i]), named, pool_.take(tickets[i])));
    show();
  }
  return {};
}

/// Compiles configs of a problem. Leaves out kernels without a valid config.
Status Compilation::compile_problem(const NamedProblem& named,
                                    const std::vector<KernelRef>& kernels) {
  progress_.problem = label(named);
  ProblemResult facts;
  facts.problem = named;
  FATUNE_TRY(const KernelSpaces built, build_spaces(kernels, task_.limits, facts));
  for (const Space& space : built.spaces) FATUNE_TRY_STATUS(compile_space(space, named));
  for (const std::string& reason : facts.left_out)
    log::info("left out for " + label(named) + ": " + reason);
  return {};
}

Status Compilation::run(const SweepSubject& subject) {
  std::vector<std::string> left_out;
  progress_.problems = subject.problems.size();
  for (const NamedProblem& named : subject.problems) {
    Status done = compile_problem(named, subject.kernels);
    ++progress_.problem_number;
    if (!done && done.error().kind != ErrorKind::kImpossible) return done;
    if (!done)
      left_out.push_back(named.name + (named.name.empty() ? "" : ": ") + done.error().message);
    if (interrupted()) return {};
  }
  if (results_.empty()) return impossible_error(join(left_out, "\n"));
  for (const std::string& reason : left_out) log::warn("left out: " + reason);
  return {};
}

/// Returns once the progress is no longer on the screen.
Result<std::vector<CompiledConfig>> compile_all(const SweepSubject& subject,
                                                const CompileTask& task, CompilePool& pool,
                                                const Settings& settings) {
  Compilation compilation(task, pool, settings);
  FATUNE_TRY_STATUS(compilation.run(subject));
  return std::move(compilation).results();
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
  FATUNE_TRY(const auto results, compile_all(subject, task, pool, settings));
  const CompileDocument document{settings.head, name(arch), pool.compiler_version(),
                                 runtime_sizes(subject.kernels), results};
  print(settings.json
            ? dump_pretty(to_json(document))
            : fmt::format("compiled for {} with NVRTC {}, nothing was run\n{}{}", document.arch,
                          document.nvrtc, runtime_sizes_text(document.runtime_sizes),
                          summary_text(results, settings.paint)));
  if (interrupted()) {
    log::warn("interrupted; what was compiled is in the cache, and the same command goes on");
    return kInterrupted;
  }
  const bool all =
      std::ranges::all_of(results, [](const CompiledConfig& result) { return result.compiled.ok; });
  return all ? kDone : kAnswerIsNo;
}

}  // namespace

Runner setup_compile(CLI::App& command) {
  return make_runner(command, verb_table<kCompile>,
                     "fatune compile --shape 4,8,512,64 --arch sm_90a --budget 40", run_compile);
}

}  // namespace fatune::cli
