// rank_worker.hpp: Sweeps the problems that rank 0 orders, and sends the journal lines back.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "core/result.hpp"
#include "transport/transport.hpp"
#include "tune/fleet/device_lane.hpp"
#include "tune/fleet/messages.hpp"

namespace fatune {

struct RankWorkerOptions {
  double silence_s = 30;                ///< this rank ends after rank 0 was silent so long
  std::function<HelloMessage()> hello;  ///< may take seconds
  /// Opens a device of the hello; called in the device's thread.
  std::function<Result<std::unique_ptr<Evaluator>>(const HelloMessage& hello, std::size_t device)>
      open;
  /// Resumes the run of one problem in a folder until it ends or is cancelled.
  std::function<Status(const std::filesystem::path& folder, Evaluator& evaluator,
                       const std::function<bool()>& cancelled, const Say& say)>
      sweep;
};

/// How a rank leaves the transport.
enum class RankWorkerEnd {
  kTogether,  ///< with all other ranks
  kAlone      ///< without waiting, because a rank is missing
};

/// Serves rank 0 until it says that the sweep is over. Keeps journals in a temporary folder and
/// sends them line by line. Fails with an environment error if rank 0 is silent for too long.
Result<RankWorkerEnd> run_rank_worker(Transport& transport, FleetClock& clock,
                                      const RankWorkerOptions& options);

}  // namespace fatune
