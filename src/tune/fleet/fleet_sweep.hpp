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

/// What devices need to sweep the parts of a run. It is filled once the run is open.
struct FleetWork {
  MakeSweepPart lane;  ///< for a device of this process
  /// The journal of a part so far, for a process that resumes it on a device.
  std::function<Result<std::string>(std::size_t part, const Environment& on)> journal_of;
  /// Takes over lines that such a process has added to the journal.
  std::function<Status(std::size_t part, const FleetHand& by, const std::string& lines)> take_lines;
};

/// The devices of one process: a lane each.
class LaneCrew final : public FleetCrew {
 public:
  LaneCrew(FleetClock& fleet_clock, FleetWork& work) : FleetCrew(fleet_clock), work_(work) {}
  void add(std::string name, DeviceLane::Open open) {
    hands.push_back(std::make_unique<DeviceLane>(std::move(name), std::move(open), work_.lane));
  }

 private:
  FleetWork& work_;
};

/// Waits until the devices are open, and returns what they have in common. A device that does not
/// open is left out with a warning. Devices of two kinds are a usage error.
Result<Environment> gather(FleetCrew& crew);

struct GatheredFleet {
  FleetCrew& crew;
  FleetWork& work;
  Environment environment;
};
/// The plan's problems have configs that do not depend on each other: `plan.shard` is set. Problems
/// go to devices as they become free, the dearest first. Results, errors and interrupts are those
/// of run_sweep().
Result<SweepResult> sweep_on_fleet(const SweepOptions& options,
                                   const std::vector<KernelRef>& kernels,
                                   const KernelRef& reference, const GatheredFleet& fleet);

/// "search 45/150, best 5.62 us"
std::string progress_words(const SweepProgress& progress);

}  // namespace fatune
