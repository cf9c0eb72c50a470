// rank_pool.hpp: Keeps the devices of other ranks, their leases, and when each rank was last heard.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/results/fleet_timeline.hpp"
#include "transport/transport.hpp"
#include "tune/fleet/fleet_sweep.hpp"
#include "tune/fleet/messages.hpp"

namespace fatune {

struct RankPoolOptions {
  double silence_s = 30;  ///< a rank is lost after it was silent so long
  HelloMessage own;       ///< of rank 0
  /// Whether to warn of each rank that shares a GPU, instead of only counting such ranks.
  bool warn_of_shared = true;
};

/// Executors for the devices of the other ranks, added as ranks say hello. A rank with another
/// fatune, device, driver or NVRTC than the first one gets no parts, but a warning. A second rank
/// on one GPU gets no parts either. Parts are leased: a rank that is silent for too long loses its
/// lease, and later messages about that lease are ignored.
class RankPool final : public ExecutorPool {
 public:
  RankPool(Transport& transport, FleetClock& fleet_clock, FleetWork& work, RankPoolOptions options);
  Status pump() override;
  bool expects_more() const override;
  /// True once every rank has said hello or the time for hellos has passed.
  bool ready() const override;
  RankCensus census() const;
  /// Tells every rank that the sweep is over. True if all ranks leave the transport together.
  bool stop();

 private:
  class Executor;
  struct Rank {
    std::string name;  ///< "rank 2 on b"
    double heard_s = 0;
    bool greeted = false;
    bool lost = false;
    std::vector<Executor*> executors = {};
  };

  Status take(int from, const ReadMessage& message);
  void greet(int from, const HelloMessage& hello);
  void take_device(int from, std::int64_t device, const MeasuringDevice& now);
  Status take_beat(int from, const BeatMessage& beat);
  /// Finds the rank's executor with the lease; null if the lease was withdrawn.
  Executor* executor_with(int rank, std::int64_t lease);
  void look_for_silence();
  Status beat();

  Transport& transport_;
  FleetWork& work_;
  RankPoolOptions options_;
  std::vector<Rank> ranks_;
  std::vector<MeasuringDevice> measuring_;
  std::int64_t last_lease_ = 0;
  double beaten_s_ = 0, begun_s_ = 0;
  mutable bool ready_ = false;
  std::map<std::string, std::size_t> reasons_;  ///< ranks by why they measure nothing
};

/// Sends every other rank a StopMessage.
void stop_ranks(Transport& transport, bool together = true);

}  // namespace fatune
