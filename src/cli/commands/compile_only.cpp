// compile_only.cpp - configs of a space through the compile pool; resources and failures as a
// table.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/options/problems.hpp"
#include "core/fields.hpp"
#include "core/interrupt.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "model/space/space.hpp"
#include "out/text/table.hpp"
#include "search/strategies/strategy.hpp"
#include "tune/compile/pool.hpp"

namespace fatune::cli {
namespace {

struct CompiledConfig {
  std::string problem, kernel;
  Config config;
  Compiled compiled;
};

/// Largest register count and all spill and stack bytes over a program's entries.
Resources worst_of(const Compiled& compiled) {
  Resources worst;
  for (const auto& [entry, r] : compiled.entries) {
    worst.registers = std::max(worst.registers, r.registers);
    worst.spill_store_bytes += r.spill_store_bytes;
    worst.spill_load_bytes += r.spill_load_bytes;
    worst.stack_bytes += r.stack_bytes;
  }
  return worst;
}

/// Up to `budget` valid points in the random strategy's order, so that a small budget still sees
/// the whole space.
Result<std::vector<Point>> some_points(const Space& space, const RunPlan& plan) {
  FATUNE_TRY(auto strategy,
             make_strategy("random", space.lattice(),
                           {.seed = plan.seed, .budget = plan.budget_evaluations, .start = {}}));
  const std::uint64_t limit = plan.budget_evaluations == 0 ? space.size() : plan.budget_evaluations;
  return strategy->ask(static_cast<std::size_t>(std::min(limit, space.size())));
}

Result<std::vector<CompiledConfig>> compile_space(const Space& space,
                                                  const std::string& problem_name,
                                                  const DeviceLimits& limits, const RunPlan& plan,
                                                  CompilePool& pool) {
  FATUNE_TRY(const std::vector<Point> points, some_points(space, plan));
  std::vector<Ticket> tickets;
  for (const Point& point : points)
    tickets.push_back(pool.submit(compile_request(space.candidate(point), limits)));
  std::vector<CompiledConfig> results;
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    while (!pool.ready(tickets[i])) {
      if (interrupted())
        return Error{ErrorKind::kInterrupted, "interrupted; what was compiled is in the cache"};
      FATUNE_TRY_STATUS(pool.pump(std::chrono::milliseconds(200)));
    }
    results.push_back({problem_name, space.kernel().manifest.name, space.config(points[i]),
                       pool.take(tickets[i])});
  }
  return results;
}

Json results_json(const std::vector<CompiledConfig>& results, const std::string& arch,
                  const std::string& compiler) {
  Json rows = Json::array();
  for (const CompiledConfig& r : results) {
    Json row = {{"problem", r.problem},
                {"kernel", r.kernel},
                {"config", to_json(r.config)},
                {"ok", r.compiled.ok}};
    if (r.compiled.ok) {
      row["cubin"] = r.compiled.cubin_hash;
      row["resources"] = to_json(worst_of(r.compiled));
    } else {
      row["reason"] = r.compiled.problem;
    }
    rows.push_back(std::move(row));
  }
  return {{"schema", "fatune.compile/1"}, {"arch", arch}, {"nvrtc", compiler}, {"rows", rows}};
}

/// What one kernel's configs for one problem came to.
struct Group {
  std::string problem, kernel;
  std::size_t compiled = 0, failed = 0, spilled = 0;
  int low = 0, high = 0;  ///< registers
  std::set<std::string> programs;
};

void add_to(Group& group, const CompiledConfig& result) {
  if (!result.compiled.ok) {
    ++group.failed;
    return;
  }
  const Resources worst = worst_of(result.compiled);
  ++group.compiled;
  group.spilled += worst.spill_store_bytes + worst.spill_load_bytes + worst.stack_bytes > 0 ? 1 : 0;
  group.low = group.low == 0 ? worst.registers : std::min(group.low, worst.registers);
  group.high = std::max(group.high, worst.registers);
  group.programs.insert(result.compiled.cubin_hash);
}

std::vector<Group> group_results(const std::vector<CompiledConfig>& results) {
  std::vector<Group> groups;
  for (const CompiledConfig& result : results) {
    const bool same = !groups.empty() && groups.back().problem == result.problem &&
                      groups.back().kernel == result.kernel;
    if (!same) {
      groups.emplace_back();
      groups.back().problem = result.problem;
      groups.back().kernel = result.kernel;
    }
    add_to(groups.back(), result);
  }
  return groups;
}

std::string summary_text(const std::vector<CompiledConfig>& results, const Paint& paint) {
  Table table({{"problem"},
               {"kernel"},
               {"compiled", Align::kRight},
               {"failed", Align::kRight},
               {"with spills", Align::kRight},
               {"programs", Align::kRight},
               {"registers"}});
  for (const Group& g : group_results(results)) {
    table.add({g.problem, g.kernel, fmt::to_string(g.compiled), fmt::to_string(g.failed),
               fmt::to_string(g.spilled), fmt::to_string(g.programs.size()),
               fmt::format("{} to {}", g.low, g.high)});
  }
  std::string text = table.text(paint.columns());
  for (const CompiledConfig& r : results) {
    if (!r.compiled.ok)
      text += "compile_error: " + r.kernel + " " + describe(r.config) + ": " + r.compiled.problem +
              "\n";
  }
  return text;
}

/// Everything of one problem. Kernels that cannot do it are left out; when none can, that is an
/// error with their reasons.
Result<std::vector<CompiledConfig>> compile_problem(const NamedProblem& named,
                                                    const std::vector<KernelRef>& kernels,
                                                    const DeviceLimits& limits, const RunPlan& plan,
                                                    CompilePool& pool) {
  std::vector<CompiledConfig> results;
  std::vector<std::string> left_out;
  for (const KernelRef& kernel : kernels) {
    FATUNE_TRY(const std::string reason,
               unsupported_reason(kernel->manifest, named.problem, limits));
    if (!reason.empty()) {
      left_out.push_back(kernel->manifest.name + " cannot do " + describe(named.problem) + " on " +
                         name(limits.arch) + ": " + reason);
      continue;
    }
    FATUNE_TRY(const Space space, Space::build(kernel, named.problem, limits));
    FATUNE_TRY(auto compiled, compile_space(space, label(named), limits, plan, pool));
    for (CompiledConfig& entry : compiled) results.push_back(std::move(entry));
  }
  if (left_out.size() == kernels.size()) return usage_error(join(left_out, "\n  "));
  for (const std::string& reason : left_out) log::info("left out: " + reason);
  return results;
}

}  // namespace

Result<int> compile_only(const std::string& wanted, std::size_t jobs, const RunPlan& plan,
                         const std::vector<KernelRef>& kernels, const Settings& settings) {
  FATUNE_TRY(const Arch arch, parse_arch(wanted));
  FATUNE_TRY(const DeviceLimits limits, typical_limits(arch));
  FATUNE_TRY(CompilePool pool, open_pool(settings, jobs));
  std::vector<CompiledConfig> results;
  for (const NamedProblem& named : plan.problems) {
    FATUNE_TRY(auto compiled, compile_problem(named, kernels, limits, plan, pool));
    for (CompiledConfig& entry : compiled) results.push_back(std::move(entry));
  }
  if (settings.json) {
    print_json(results_json(results, name(arch), pool.compiler_version()));
  } else {
    print("compiled for " + name(arch) + " with NVRTC " + pool.compiler_version() +
          ", nothing was run\n" + summary_text(results, settings.paint));
  }
  const bool all = std::all_of(results.begin(), results.end(),
                               [](const CompiledConfig& r) { return r.compiled.ok; });
  return all ? kDone : kAnswerIsNo;
}

}  // namespace fatune::cli
