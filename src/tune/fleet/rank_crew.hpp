// rank_crew.hpp: Keeps rank 0's ledger: which rank has which part, and when it was last heard.
#pragma once

#include <memory>

#include "core/result.hpp"
#include "model/results/rank_census.hpp"
#include "transport/transport.hpp"
#include "tune/fleet/fleet_sweep.hpp"
#include "tune/fleet/messages.hpp"

namespace fatune {

struct RankCrewOptions {
  double silence_s = 30;  ///< after which a rank is lost
  HelloMessage own;       ///< of rank 0, whose devices are measured alike, too
  /// That a rank's device is another's, not only how many such ranks there are.
  bool warn_of_shared = true;
};

/// The hands of the other ranks, each a device, as they say hello. A rank with another fatune,
/// device, driver or NVRTC than the first one, and a second rank on one GPU, are named in a warning
/// and get no parts. A part is leased: to a rank that is silent for too long it is lost, and what
/// it says of that part later counts for nothing.
class RankCrew final : public FleetCrew {
 public:
  RankCrew(Transport& transport, FleetClock& fleet_clock, FleetWork& work, RankCrewOptions options);
  ~RankCrew() override;
  Status pump() override;
  bool expects_more() const override;
  /// Once every rank has said hello, or enough time for that has passed.
  bool ready() const override;
  RankCensus census() const;
  /// Tells every rank that the sweep is over. Whether all are there to leave the transport as one.
  bool stop();

 private:
  class Ledger;
  std::unique_ptr<Ledger> ledger_;
};

/// Tells every rank that there will be no orders; `together` as StopMessage has it.
void stop_ranks(Transport& transport, bool together = true);

}  // namespace fatune
