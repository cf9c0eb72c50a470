// sweep_plan.hpp - the options of `fatune sweep` turned into a run plan, and the configs it starts
// from.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/option_table.hpp"
#include "core/result.hpp"
#include "model/kernel/kernel.hpp"
#include "model/results/journal.hpp"
#include "model/results/record.hpp"
#include "tune/evaluate/evaluator.hpp"

namespace fatune::cli {

struct SweepArgs {
  CommonArgs common;
  ProblemArgs problem;
  std::vector<std::string> kernels;
  std::string device = "auto";
  RunPlan plan;  ///< the members that options set as they are typed: strategy, objective, switches
  std::string budget;  ///< empty: by the strategy
  std::string baselines = "naive,cudnn,torch:flash";
  std::string seed = "42";
  std::string out, resume;
  std::string arch;
  std::string jobs;
  std::string shard;
  std::vector<std::string> warm;
  bool no_warm_start = false;
  std::vector<std::string> imports;
  bool compile_only = false;
  std::optional<std::string> serve;  ///< a port; empty: the usual one
  bool sanitize = false;
  bool finals = false;  ///< of a resumed run, nothing else
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

/// The configs that ship with fatune.
Result<std::vector<SavedConfig>> shipped_configs();

/// Files named by `paths` first, then the runs beside `own_folder` unless that is empty, then what
/// ships with fatune: of two equally near configs the earlier one starts. A path that cannot be
/// read is an error.
Result<std::vector<SavedConfig>> known_configs(const std::vector<std::string>& paths,
                                               const std::filesystem::path& own_folder);

/// "known: fa_wgmma for exactly 4,8,512,64 f16, 5.62 us hot, from FILE; --budget 0 takes it"; of
/// --budget 0, for which problems the nearest stand in. Empty when there is nothing to say.
std::string known_notice(const RunPlan& plan, const std::vector<SavedConfig>& known,
                         const Arch& arch);

}  // namespace fatune::cli
