// rank_crew.hpp - rank 0's ledger: which rank has which part, since when it was last heard, and
// what it has sent.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/results/rank_census.hpp"
#include "transport/transport.hpp"
#include "tune/fleet/compile_desk.hpp"
#include "tune/fleet/fleet.hpp"
#include "tune/fleet/messages.hpp"

namespace fatune {

/// Where a part's run is kept on rank 0's host, and how it is swept.
struct PartOrder {
  std::filesystem::path folder, log;
  std::vector<std::string> words, words_to_resume;  ///< after `fatune sweep`
};

struct RankCrewOptions {
  double silence_s = 30;  ///< after which a rank is lost
  HelloMessage own;       ///< of rank 0, whose devices are measured alike, too
  /// That a rank's device is another's, not only how many such ranks there are.
  bool warn_of_shared = true;
  std::function<PartOrder(std::size_t part)> order;
};

/// The hands of the other ranks, each a device, as they say hello. A rank with another fatune,
/// device, driver or NVRTC than the first one, and a second rank on one GPU, are named in a warning
/// and get no parts. One without a GPU, or on that of another rank, compiles for the others, if its
/// compiler is theirs. A part is leased: to a rank that is silent for too long it is lost, and what
/// it says of that part later counts for nothing.
class RankCrew final : public FleetCrew {
 public:
  RankCrew(Transport& transport, FleetClock& clock, RankCrewOptions options);
  ~RankCrew() override;
  Status pump() override;
  bool expects_more() const override;
  /// Once every rank has said hello, or enough time for that has passed: a part keeps the number of
  /// compile processes that it began with.
  bool ready() const override;
  RankCensus census() const;
  CompileDesk& desk();  ///< of rank 0's own sweeps
  /// Compilations that other ranks have for each device at once, as things stand.
  std::size_t remote_jobs() const;
  /// Tells every rank that the sweep is over. Whether all are there to leave the transport as one.
  bool stop();

 private:
  class Ledger;
  std::unique_ptr<Ledger> ledger_;
};

/// Tells every rank that there will be no orders; `together` as StopMessage has it.
void stop_ranks(Transport& transport, bool together = true);

}  // namespace fatune
