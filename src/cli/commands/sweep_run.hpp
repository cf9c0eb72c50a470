// sweep_run.hpp: Runs a sweep that is ready, shows its progress and prints its result.
#pragma once

#include <functional>
#include <memory>

#include "cli/commands/ready_sweep.hpp"
#include "cli/options/settings.hpp"
#include "core/result.hpp"
#include "tune/fleet/fleet_sweep.hpp"

namespace fatune::cli {

/// Open devices of a sweep.
class SweepDevices {
 public:
  virtual ~SweepDevices() = default;
  /// Environment common to all devices.
  virtual const Environment& environment() const = 0;
  virtual Result<SweepResult> sweep(const ReadySweep& ready) = 0;
  /// Called after the sweep and before its result is printed.
  virtual void finish(Result<SweepResult>& /*result*/) {}
};

/// Devices that sweep problems side by side.
class FleetDevices : public SweepDevices {
 public:
  /// Waits for the devices of the pool.
  Status meet(std::unique_ptr<ExecutorPool> pool);
  FleetWork& work() { return work_; }
  ExecutorPool& pool() { return *pool_; }
  FleetClock& clock() { return clock_; }
  const Environment& environment() const override { return environment_; }
  Result<SweepResult> sweep(const ReadySweep& ready) override;

 private:
  FleetClock clock_;
  FleetWork work_;
  std::unique_ptr<ExecutorPool> pool_;
  Environment environment_;
};

/// Returns a function that opens a device for a lane.
DeviceLane::Open lane_opener(const OpenRequest& request, const Settings& settings);

using OpenDevices = std::function<Result<std::unique_ptr<SweepDevices>>(const ReadySweep& ready)>;
/// Opens the devices of this process.
Result<std::unique_ptr<SweepDevices>> open_devices(const ReadySweep& ready,
                                                   const Settings& settings);

/// Sweeps in the run's folder, which is created if the user named none, and prints the result.
Result<int> run_ready(ReadySweep& ready, const OpenDevices& open, const Settings& settings);

}  // namespace fatune::cli
