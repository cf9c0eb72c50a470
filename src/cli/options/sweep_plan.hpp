// sweep_plan.hpp: Makes the run plan of `fatune sweep` and loads its starting configs.
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
  RunPlan plan;  ///< members that options set as typed: strategy, switches
  std::string objective = "in_layer";
  std::string budget;  ///< empty: the strategy's default
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
  std::optional<std::string> serve;  ///< a port; empty: the default port
  bool sanitize = false;
  bool finals = false;  ///< run only the final phase of a resumed run
};
OptionTable sweep_table(SweepArgs& args);

/// Limit of each problem: "150" is candidates, "60s" and "5m" are time.
struct Budget {
  std::uint64_t evaluations = 150;  ///< 0: no limit
  std::optional<double> seconds;
};
Result<Budget> parse_budget(const std::string& text);

/// Checks every flag before anything is opened or written.
Result<RunPlan> resolve_plan(const SweepArgs& args, const std::vector<NamedProblem>& problems,
                             const std::vector<KernelRef>& kernels);
/// 0 without the flag: decided by the number of cores.
Result<std::size_t> parse_jobs(const std::string& text);
Result<std::uint64_t> parse_seed(const std::string& text);
/// Port of --serve, or the default port without a value. Nothing without the flag.
Result<std::optional<int>> parse_serve(const std::optional<std::string>& text);
/// Refuses options beside --resume that apply to new runs only.
Status refuse_new_run_options(const SweepArgs& args);
/// Plan of a resumed run: the journal's plan with the typed options. run_sweep refuses a
/// difference.
RunPlan resumed_plan(const SweepArgs& args, RunPlan recorded, const RunPlan& typed);
/// Parses --rounds and --seed of a final phase.
Result<FinalPlan> resolve_rounds(const RoundsArgs& args);

/// Known configs that ship with fatune.
Result<std::vector<SavedConfig>> shipped_configs();

/// Loads known configs from `paths`, then from runs beside `own_folder` unless it is empty, then
/// from fatune itself. The earlier of two equally near configs starts first. An unreadable path is
/// an error.
Result<std::vector<SavedConfig>> known_configs(const std::vector<std::string>& paths,
                                               const std::filesystem::path& own_folder);

/// Notice "known: fa_wgmma for exactly 4,8,512,64 f16, 5.62 us hot, from FILE; --budget 0 takes
/// it". With --budget 0, names the problems that use the nearest config. May be empty.
std::string known_notice(const RunPlan& plan, const std::vector<SavedConfig>& known,
                         const Arch& arch);

}  // namespace fatune::cli
