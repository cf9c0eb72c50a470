// fleet.hpp: Assigns the parts of a plan to executors, one part to each at a time.
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

/// State of the part that an executor has.
struct PartReport {
  enum class State {
    kRuns,
    kEnded,
    kFailed,
    kLost  ///< the executor is lost; the part itself may be fine
  };
  State state = State::kRuns;
  std::string reason = {};  ///< of kFailed and kLost
};

/// Clock and pause of the fleet, which simulations replace.
class FleetClock {
 public:
  virtual ~FleetClock() = default;
  virtual double now_s() const;  ///< since an arbitrary origin
  virtual void pause();          ///< waits between two polls of the executors
};

/// Sweeps parts on one device, in a thread of this process or on another rank.
class FleetExecutor {
 public:
  virtual ~FleetExecutor() = default;
  virtual const std::string& name() const = 0;  ///< "cuda:0", "rank 2 on b, cuda:0"
  virtual std::string said() const = 0;         ///< last progress line of the running sweep
  virtual bool able() const { return true; }    ///< whether an idle executor may take a part now
  /// Starts a part. An error concerns this process or its disk, and ends the fleet.
  virtual Status begin(std::size_t part) = 0;
  /// Reports on the part that began last. After any state but kRuns the executor is idle.
  virtual Result<PartReport> look() = 0;
  /// Returns the result of an ended part, once; nullopt if only the journal holds the result.
  virtual std::optional<ProblemResult> take_result() { return std::nullopt; }
  virtual bool opening() const { return false; }       ///< the device is not known yet
  virtual const Environment* environment() const = 0;  ///< null: the device did not open
  virtual Status failure() const { return {}; }        ///< why the device did not open
  virtual void wait() {}                               ///< until no part is running
};

/// The executors of a fleet, which are never removed.
class ExecutorPool {
 public:
  explicit ExecutorPool(FleetClock& fleet_clock) : clock(fleet_clock) {}
  virtual ~ExecutorPool() = default;
  /// Handles pending messages; may add executors.
  virtual Status pump() { return {}; }
  virtual bool expects_more() const { return false; }  ///< whether executors may still be added
  virtual bool ready() const { return true; }          ///< whether the first part may begin
  void wait() {
    for (const auto& executor : executors) executor->wait();
  }

  FleetClock& clock;
  std::vector<std::unique_ptr<FleetExecutor>> executors;
};

/// A part that an executor had.
struct FleetStretch {
  std::size_t part = 0;
  double begin_s = 0, end_s = 0;  ///< since the fleet began
  bool ended = false;             ///< false: the part failed or was lost
};

/// The work of one executor.
struct FleetMember {
  std::string name;
  std::size_t parts = 0;  ///< number of ended parts
  std::vector<FleetStretch> work = {};
  /// Parts that failed in a row and may not be at fault.
  std::set<std::size_t> failures = {};
  bool left_out = false;  ///< gets no more parts for now
};

struct FleetEvent {
  enum class Kind { kBegins, kRuns, kEnds, kFails };
  Kind kind = Kind::kBegins;
  std::size_t part = 0;
  const FleetMember* member = nullptr;
  double part_s = 0;      ///< since the part began
  std::string said = {};  ///< kRuns: progress line of the sweep; kFails: the reason
};

struct FleetOptions {
  std::vector<double> costs;  ///< by part; the most expensive part begins first
  std::function<void(const FleetEvent&)> on_event;
  /// Called for each part that ended. Its error ends the fleet.
  std::function<Status(std::size_t part, FleetExecutor& executor)> take = nullptr;
};

struct FailedPart {
  std::size_t part = 0;
  std::string reason;
};

struct FleetResult {
  std::vector<FleetMember> members;  ///< in the order of the executors
  std::vector<FailedPart> failed;
  double seconds = 0;
};

/// Retries a failed part once, on another executor if possible, and a lost part twice. An executor
/// with two failures in a row is left out until one of these parts fails on another executor, too.
/// If all executors are left out, each tries the parts that failed on others. Ctrl-C is an
/// interrupted error.
Result<FleetResult> run_fleet(const FleetOptions& options, ExecutorPool& pool);

}  // namespace fatune
