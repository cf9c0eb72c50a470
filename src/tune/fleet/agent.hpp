// agent.hpp: Serves rank 0: sweeps the problems that it orders, and sends what comes of them.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "core/result.hpp"
#include "transport/transport.hpp"
#include "tune/fleet/device_lane.hpp"
#include "tune/fleet/messages.hpp"

namespace fatune {

struct AgentOptions {
  double silence_s = 30;                ///< of rank 0, after which this rank ends
  std::function<HelloMessage()> hello;  ///< may take seconds
  /// Opens a device of the hello; called in the device's own thread.
  std::function<Result<std::unique_ptr<Evaluator>>(const HelloMessage& hello, std::size_t device)>
      open;
  /// Resumes the run in a folder, which has one problem, unless it is cancelled.
  std::function<Status(const std::filesystem::path& folder, Evaluator& evaluator,
                       const std::function<bool()>& cancelled, const Say& say)>
      sweep;
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
