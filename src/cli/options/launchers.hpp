// launchers.hpp: Reads what Slurm, Kubernetes and MPI's launchers tell a process: its part of a
// plan, its ranks and their devices.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/session.hpp"
#include "core/result.hpp"
#include "model/results/journal.hpp"
#include "transport/transport.hpp"
#include "tune/fleet/messages.hpp"

namespace fatune::cli {

/// Reads an environment variable; empty if it is not set.
using ReadVariable = std::function<std::string(const char* name)>;

struct ShardChoice {
  std::uint64_t number = 1, of = 1;  ///< `number` counts from 1
};
/// Parses "2/4". "auto" reads the variables of a Slurm array or step. "auto/4" also reads the index
/// of a pod of a Kubernetes indexed job, which gives no count.
Result<ShardChoice> parse_shard(const std::string& text, const ReadVariable& variable);

/// Part of a plan's problems that --shard names; nothing without --shard. Refuses plans that need
/// all problems in one run.
Result<std::optional<Shard>> resolve_shard(const std::string& text, const RunPlan& plan);

/// Options of mpirun without which Open MPI ends the whole job when one rank dies.
inline constexpr const char* kMpiRecovery =
    "--mca orte_enable_recovery 1 --mca orte_abort_on_non_zero_status 0";

/// Number of processes that mpirun or srun started together; 1 without a launcher.
int launched_ranks(const ReadVariable& variable);
/// Seconds of silence after which other ranks take over a rank's work: FATUNE_SILENCE, or 30.
Result<double> rank_silence(const ReadVariable& variable);

/// Folders that may hold the MPI plug-in: the program's folder and the installation's.
std::vector<std::filesystem::path> mpi_plugin_places();

/// Number of a rank among the ranks of its host.
struct LocalRank {
  std::size_t number = 0, of = 1;
};
LocalRank local_rank(const Transport& transport);
/// Devices of --device. `auto` is one GPU for each rank of a host, or all GPUs if Slurm bound as
/// many as SLURM_GPUS_PER_TASK.
Result<std::vector<std::string>> devices_of_rank(const std::string& device, const LocalRank& local,
                                                 const ReadVariable& variable,
                                                 const ListDevices& list);
/// Greeting of this process, with its devices. Without a GPU the greeting gives the reason.
HelloMessage make_hello(const std::string& device, const LocalRank& local,
                        const Settings& settings);

}  // namespace fatune::cli
