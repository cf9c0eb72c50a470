// fleet_sweep.hpp: Sweeps the problems of a plan on several devices at once, into one journal.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "tune/fleet/device_lane.hpp"
#include "tune/fleet/fleet.hpp"
#include "tune/sweep/sweep.hpp"

namespace fatune {

/// Callbacks with which devices sweep the parts of a run, set once the run is open.
struct FleetWork {
  MakeSweepPart lane;  ///< for a device of this process
  /// Returns the journal of a part so far, for a process that resumes the part on a device.
  std::function<Result<std::string>(std::size_t part, const Environment& on)> journal_of;
  /// Appends the lines that another process has added to the journal of a part.
  std::function<Status(std::size_t part, const FleetExecutor& by, const std::string& lines)>
      take_lines;
};

/// The devices of one process, one lane each.
class LanePool final : public ExecutorPool {
 public:
  LanePool(FleetClock& fleet_clock, FleetWork& work) : ExecutorPool(fleet_clock), work_(work) {}
  void add(std::string name, DeviceLane::Open open) {
    executors.push_back(std::make_unique<DeviceLane>(std::move(name), std::move(open), work_.lane));
  }

 private:
  FleetWork& work_;
};

/// Waits until the devices are open, and returns their common environment. A device that does not
/// open is left out with a warning. Devices with different environments are a usage error.
Result<Environment> gather(ExecutorPool& pool);

/// A device that takes part in a run.
struct MeasuringDevice {
  std::string name;  ///< "rank 2 on b, cuda:0"
  Environment environment;
};
/// Explains how the environment of `now` differs from that of `before`; empty if both agree.
std::string refusal(const MeasuringDevice& now, const std::vector<MeasuringDevice>& before);

struct GatheredFleet {
  ExecutorPool& pool;
  FleetWork& work;
  Environment environment;
};
/// Sweeps problems on devices as they become free, the most expensive problem first. The problems
/// must not depend on each other's configs: `plan.shard` is set. Results, errors and interrupts are
/// as in run_sweep().
Result<SweepResult> sweep_on_fleet(const SweepOptions& options,
                                   const std::vector<KernelRef>& kernels,
                                   const KernelRef& reference, const GatheredFleet& fleet);

/// Describes progress, such as "search 45/150, best 5.62 us".
std::string progress_words(const SweepProgress& progress);

}  // namespace fatune
