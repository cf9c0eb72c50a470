// agent.hpp - a rank that waits for orders: sweeps what rank 0 says, and sends what comes of it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/child.hpp"
#include "core/result.hpp"
#include "transport/transport.hpp"
#include "tune/fleet/compile_server.hpp"
#include "tune/fleet/fleet.hpp"
#include "tune/fleet/messages.hpp"

namespace fatune {

/// How an order is carried out on this host.
struct PartPlace {
  std::filesystem::path folder, log;
  std::string device;
  std::size_t jobs = 1;         ///< compile processes
  bool resumed = false;         ///< the folder holds the journal so far
  std::size_t remote_jobs = 0;  ///< of other ranks
};

struct AgentOptions {
  double silence_s = 30;                ///< of rank 0, after which this rank ends
  std::function<HelloMessage()> hello;  ///< may take seconds
  std::function<Result<std::size_t>(const HelloMessage& hello)> jobs;  ///< of each device
  std::function<ChildCommand(const std::vector<std::string>& words, const PartPlace& place)>
      command;
  /// For orders of other ranks, which one without a device gets. `jobs`: of processes.
  std::function<Result<HostCompiler>(std::size_t jobs)> compiler;
};

/// How rank 0 ended it.
enum class AgentEnd {
  kTogether,  ///< every rank leaves the transport now
  kAlone      ///< a rank is missing: nobody waits for the others
};

/// Serves rank 0 until it says that the sweep is over. Journals are kept in a folder for temporary
/// files, and sent line by line. An environment error when rank 0 is silent for too long.
Result<AgentEnd> run_agent(Transport& transport, FleetClock& clock, const AgentOptions& options);

}  // namespace fatune
