// sweep_plan.hpp: Resolves the options of sweep, compile, resume and finals to typed values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options/catalog.hpp"
#include "cli/options/option_table.hpp"
#include "core/result.hpp"
#include "model/kernel/kernel.hpp"
#include "model/problem/suite.hpp"
#include "model/results/journal.hpp"

namespace fatune::cli {

/// Values of sweep, compile, resume and finals, as typed.
struct SweepArgs {
  CommonArgs common;
  ProblemArgs problem;
  std::vector<std::string> kernels;
  std::string device = "auto";
  std::string strategy = "evo";
  bool one_lever = false;
  std::string objective = "in_layer";
  std::string budget;     ///< empty: the strategy's default
  std::string baselines;  ///< empty: the operation's default
  std::string seed = "42";
  std::string out;  ///< empty: named by date and problem
  std::string run;  ///< folder of the run to resume
  std::string arch = "sm_90a";
  std::string jobs;
  std::string shard;
  std::vector<std::string> warm;
  bool no_warm_start = false;
  std::vector<std::string> imports;
  bool record_cold = false, skip_correctness = false, sanitize = false;
  std::optional<std::string> serve;  ///< a port; empty: the default port
};
/// All options of the four commands.
OptionTable sweep_options(SweepArgs& args);
template <Verb verb>
OptionTable verb_table(SweepArgs& args) {
  return rows_of(verb, sweep_options(args));
}

/// How a run, new or resumed, uses this machine.
struct SweepUse {
  std::string device = "auto";       ///< --device, which each process looks up on its own host
  bool names_device = false;         ///< --device was typed
  int ranks = 1;                     ///< processes that a launcher started for this run
  std::vector<std::string> kernels;  ///< named by --kernel; may be empty
  bool custom = false;               ///< without a name: the kernels of custom operations
  std::size_t jobs = 0;              ///< 0: decided by the number of cores
  std::optional<int> serve;          ///< a port
  bool sanitize = false;
  bool finals_only = false;  ///< `fatune finals`
};
Result<SweepUse> resolve_use(const SweepArgs& args);

/// Devices and cores on which a sweep runs.
struct SweepHosts {
  std::vector<std::string> devices;  ///< devices of this process, each in the form of --device
  std::size_t cores = 1;             ///< cores of this process
  bool ranks = false;                ///< other processes also have devices
  bool several() const { return ranks || devices.size() > 1; }
};

/// Kernels that --kernel names. With --size alone, all kernels of custom operations.
Result<std::vector<KernelRef>> used_kernels(const SweepUse& use, const Catalog& catalog);
/// Kernels of one operation, and problems for them.
struct SweepSubject {
  std::vector<KernelRef> kernels;
  OperationRef operation;
  std::vector<NamedProblem> problems;
};
Result<SweepSubject> resolve_subject(const SweepUse& use, const ProblemArgs& problem,
                                     const Catalog& catalog);
/// Plan of a new run. `reference` is the reference kernel of the operation.
Result<RunPlan> resolve_plan(const SweepArgs& args, const SweepSubject& subject,
                             const KernelRef& reference, const SweepHosts& hosts);

}  // namespace fatune::cli
