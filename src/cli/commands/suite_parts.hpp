// suite_parts.hpp - a suite's problems as parts that several devices sweep, what is told of them
// meanwhile, and their union.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/settings.hpp"
#include "cli/options/sweep_plan.hpp"
#include "core/append_file.hpp"
#include "core/child.hpp"
#include "core/result.hpp"
#include "model/results/fleet_timeline.hpp"
#include "model/results/rank_census.hpp"
#include "tune/fleet/agent.hpp"
#include "tune/fleet/fleet.hpp"

namespace fatune::cli {

/// A new folder of that name; of NAME-2, NAME-3 where other runs of the same second are.
Result<std::filesystem::path> make_run_folder(const std::filesystem::path& wanted);

struct PlannedSuite {
  RunPlan plan;               ///< with its kernels' hashes
  std::filesystem::path out;  ///< of --out, else what a new folder is to be named
};

/// A problem as a shard of its own.
struct Part {
  std::string shard;    ///< "3/12"
  std::string problem;  ///< its label
  double cost = 1;
  std::filesystem::path folder, log;
  std::filesystem::path searched = {};  ///< of another part, whose final phase this repeats

  std::string label() const { return searched.empty() ? problem : problem + " again"; }
};
Result<std::vector<Part>> parts_of(const RunPlan& plan, const std::filesystem::path& out);
/// Those that have not ended yet.
Result<std::vector<Part>> open_parts(const std::vector<Part>& parts);

/// What does not go with several devices; `who` asks for them: "--device names several".
Status check_several_devices(const SweepArgs& args, const std::string& who);

/// Compile processes of each of `sweeps` on this host: those of --jobs, or so many cores, in equal
/// shares.
Result<std::size_t> jobs_of_each(const SweepArgs& args, std::size_t sweeps, std::size_t cores);
/// The words after `fatune sweep` of a part: anew, or of its run resumed. What says where, on which
/// device and with how many jobs is left out.
std::vector<std::string> part_words(const Part& part, const SweepArgs& args, bool resumed);
ChildCommand part_command(const std::vector<std::string>& words, const PartPlace& place);
/// What a part has on this host.
struct PartResources {
  std::string device;
  std::size_t jobs = 1;         ///< compile processes
  std::size_t remote_jobs = 0;  ///< of other ranks
};
/// A new run of the part in its own folder, or its run resumed.
Result<ChildCommand> command_of(const Part& part, const PartResources& resources,
                                const SweepArgs& args);

/// How a suite on several devices is told and printed.
struct SuiteRun {
  std::vector<Part> parts, open;
  std::filesystem::path out;
  std::string command;                   ///< that repeats the whole
  std::optional<RankCensus> ranks = {};  ///< of mpirun or srun
  FleetTimeline timeline = {};
  AppendFile lock = {};  ///< keeps other sweeps out of the folder
};
/// A folder that another sweep works in, or with parts of another plan, is an error.
Result<SuiteRun> begin_suite(const PlannedSuite& planned, const SweepArgs& args);
/// Runs the open parts.
Result<FleetResult> run_parts(SuiteRun& suite, FleetCrew& crew, FleetClock& clock);
/// Merges all parts to one run, which it prints; where some failed, says which. The answer is no
/// when no problem has a best.
Result<int> finish_suite(const SuiteRun& suite, const FleetResult& fleet, const Settings& settings);

}  // namespace fatune::cli
