// sweep_plan.hpp - the options of `fatune sweep` turned into a run plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options/args.hpp"
#include "core/result.hpp"
#include "model/kernel/kernel.hpp"
#include "model/results/journal.hpp"
#include "tune/evaluate/evaluator.hpp"

namespace fatune::cli {

struct SweepArgs {
  CommonArgs common;
  ProblemArgs problem;
  std::vector<std::string> kernels;
  std::string device = "auto";
  RunPlan plan;  ///< the members that options set as they are typed: strategy, objective, switches
  std::string budget;  ///< empty: 150, or everything for the exhaustive strategy
  std::string baselines = "naive,cudnn,torch:flash";
  std::string seed = "42";
  std::string out, resume;
  std::string arch;
  std::string jobs;
  bool one_config = false;
  bool per_problem = false;
  std::string portfolio;
  std::vector<std::string> warm;
  bool no_warm_start = false;
  std::vector<std::string> imports;
  bool compile_only = false;
  std::optional<std::string> serve;  ///< a port; empty: the usual one
  bool sanitize = false;
};
OptionTable sweep_table(SweepArgs& args);

/// "150" is candidates, "60s" or "5m" is time; both apply to each problem.
struct Budget {
  std::uint64_t evaluations = 150;  ///< 0: no limit
  std::optional<double> seconds;
};
Result<Budget> parse_budget(const std::string& text);

/// Every flag checked, before anything is opened or written.
Result<RunPlan> resolve_plan(const SweepArgs& args, const std::vector<NamedProblem>& problems,
                             const std::vector<KernelRef>& kernels);
/// 0 when the flag is absent: decided by the number of cores.
Result<std::size_t> parse_jobs(const std::string& text);
Result<std::uint64_t> parse_seed(const std::string& text);
/// Of --serve: a port, its own default without a value; nothing without the flag.
Result<std::optional<int>> parse_serve(const std::optional<std::string>& text);
/// What is typed beside --resume and only makes sense for a new run is a usage error.
Status refuse_new_run_options(const SweepArgs& args);
/// A resumed run's plan is the journal's, `recorded`. What is typed beside --resume takes its place
/// there: where it says otherwise, run_sweep refuses it.
RunPlan resumed_plan(const SweepArgs& args, RunPlan recorded, const RunPlan& typed);
/// --rounds and --seed of a final phase.
Result<FinalPlan> resolve_rounds(const RoundsArgs& args);

}  // namespace fatune::cli
