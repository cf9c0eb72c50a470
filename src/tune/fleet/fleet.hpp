// fleet.hpp: Deals the parts of a plan to devices, one a device at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/results/sweep_result.hpp"

namespace fatune {

/// What became of the part that a hand has.
struct HandReport {
  enum class State {
    kRuns,
    kEnded,
    kFailed,
    kLost  ///< with its hand: nothing is known of the part's own doing
  };
  State state = State::kRuns;
  std::string reason = {};  ///< of kFailed and kLost
};

/// Time passes in here, so that a simulation of a thousand hands takes none.
class FleetClock {
 public:
  virtual ~FleetClock() = default;
  virtual double now_s() const;  ///< since some beginning
  virtual void pause();          ///< between two glances at the hands
};

/// A device with whoever sweeps on it: a thread of this process, or another rank.
class FleetHand {
 public:
  virtual ~FleetHand() = default;
  virtual const std::string& name() const = 0;  ///< "cuda:0", "rank 2 on b, cuda:0"
  virtual std::string said() const = 0;         ///< the last words of the sweep that it runs
  virtual bool able() const { return true; }    ///< to take a part now, if it has none
  /// An error is one of this process or its disk, and ends the fleet.
  virtual Status begin(std::size_t part) = 0;
  /// Of the part that began last; it has none after any answer but kRuns.
  virtual Result<HandReport> look() = 0;
  /// Of a part that ended, unless the journal alone has it; given once.
  virtual std::optional<ProblemResult> take_result() { return std::nullopt; }
  virtual bool opening() const { return false; }       ///< the device is not known yet
  virtual const Environment* environment() const = 0;  ///< null: the device did not open
  virtual Status failure() const { return {}; }        ///< why it did not
  virtual void wait() {}                               ///< until it has no part in hand
};

/// The hands of a fleet. They are never removed.
class FleetCrew {
 public:
  explicit FleetCrew(FleetClock& fleet_clock) : clock(fleet_clock) {}
  virtual ~FleetCrew() = default;
  /// Hears what there is to hear; may add hands.
  virtual Status pump() { return {}; }
  virtual bool expects_more() const { return false; }  ///< hands
  virtual bool ready() const { return true; }          ///< for the first part
  void wait() {
    for (const auto& hand : hands) hand->wait();
  }

  FleetClock& clock;
  std::vector<std::unique_ptr<FleetHand>> hands;
};

/// A part that a hand had.
struct FleetStretch {
  std::size_t part = 0;
  double begin_s = 0, end_s = 0;  ///< since the fleet began
  bool ended = false;             ///< else it failed, or was lost with its hand
};

/// What a hand did.
struct FleetMember {
  std::string name;
  std::size_t parts = 0;  ///< that ended
  std::vector<FleetStretch> work = {};
  std::set<std::size_t> failures = {};  ///< parts in a row that may be this hand's to answer for
  bool left_out = false;                ///< takes no more parts, as things stand
};

struct FleetEvent {
  enum class Kind { kBegins, kRuns, kEnds, kFails };
  Kind kind = Kind::kBegins;
  std::size_t part = 0;
  const FleetMember* member = nullptr;
  double part_s = 0;      ///< since it began
  std::string said = {};  ///< by its sweep, of kRuns; the reason, of kFails
};

struct FleetOptions {
  std::vector<double> costs;  ///< of each part; the dearest begins first
  std::function<void(const FleetEvent&)> on_event;
  /// Called for each part that ended. Its error ends the fleet.
  std::function<Status(std::size_t part, FleetHand& hand)> take = nullptr;
};

struct FailedPart {
  std::size_t part = 0;
  std::string reason;
};

struct FleetResult {
  std::vector<FleetMember> members;  ///< in the order of the hands
  std::vector<FailedPart> failed;
  double seconds = 0;
};

/// A part that fails is tried once more, by another hand if one is left; one that is lost with its
/// hand, twice more. A hand on which two parts in a row fail is left out, until one of them fails
/// on another hand, too: then it is the part. Where all are left out, each tries what failed on
/// another. Ctrl-C is an interrupted error.
Result<FleetResult> run_fleet(const FleetOptions& options, FleetCrew& crew);

}  // namespace fatune
