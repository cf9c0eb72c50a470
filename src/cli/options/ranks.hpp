// ranks.hpp: Finds the ranks that a launcher of MPI started, and the devices of this one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/options/session.hpp"
#include "cli/options/settings.hpp"
#include "cli/options/shard.hpp"
#include "core/result.hpp"
#include "transport/transport.hpp"
#include "tune/fleet/messages.hpp"

namespace fatune::cli {

/// Without these Open MPI ends the whole job when one rank dies.
inline constexpr const char* kMpiRecovery =
    "--mca orte_enable_recovery 1 --mca orte_abort_on_non_zero_status 0";

/// How many processes mpirun or srun started together; 1 without either.
int launched_ranks(const ReadVariable& variable);
/// Seconds of silence after which a rank's work goes to others: FATUNE_SILENCE, else 30.
Result<double> rank_silence(const ReadVariable& variable);

/// Where the plug-in for MPI may be: beside the program, and where it is installed.
std::vector<std::filesystem::path> mpi_plugin_places();

/// A rank among those of its host.
struct LocalRank {
  std::size_t number = 0, of = 1;
};
LocalRank local_rank(const Transport& transport);
/// Those of --device, of which `auto` is one GPU for each rank of a host; where Slurm has bound as
/// many GPUs as it gives a task, all of them.
Result<std::vector<std::string>> devices_of_rank(const std::string& device, const LocalRank& local,
                                                 const ReadVariable& variable,
                                                 const ListDevices& list);
/// This process as it greets the others, with its devices. Without a GPU of its own it says why.
HelloMessage make_hello(const std::string& device, const LocalRank& local,
                        const Settings& settings);

}  // namespace fatune::cli
