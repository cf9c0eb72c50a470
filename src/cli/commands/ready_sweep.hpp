// ready_sweep.hpp: Makes a new or resumed run ready, and sweeps it on this machine or on ranks.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "cli/options/session.hpp"
#include "cli/options/settings.hpp"
#include "cli/options/start_configs.hpp"
#include "cli/options/sweep_plan.hpp"
#include "core/result.hpp"
#include "tune/fleet/fleet_sweep.hpp"
#include "tune/sweep/sweep.hpp"

namespace fatune::cli {

/// A run with everything resolved that its sweep needs.
struct ReadySweep {
  SweepOptions options;
  std::vector<KernelRef> kernels;
  StartSources start;
  std::vector<Recording> imports;
  SweepUse use;
  bool names_folder = true;             ///< false: options.out is created
  OpenRequest device = {};              ///< only device, or the first device
  std::vector<OpenRequest> lanes = {};  ///< devices that sweep problems side by side
};

/// Makes the run of a command, without its devices. Called once the devices are counted.
using MakeRun = std::function<Result<ReadySweep>(const SweepHosts&, const Catalog&)>;
Result<ReadySweep> new_run(const SweepArgs& args, const SweepUse& use, const SweepHosts& hosts,
                           const Catalog& catalog);
/// Continues the run in `folder` by the plan of its journal.
Result<ReadySweep> resumed_run(const std::string& folder, const SweepUse& use,
                               const Catalog& catalog);
/// Adds baselines, configs to start from, and devices to a run.
Status prepare(ReadySweep& ready, const SweepHosts& hosts, const Catalog& catalog,
               const Settings& settings);

/// Compile processes of each of `sweeps`: an equal share of --jobs, or of the cores.
std::size_t jobs_of_each(std::size_t jobs, std::size_t sweeps, std::size_t cores);

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

/// Creates the folder, or NAME-2, NAME-3 if runs of the same second exist.
Result<std::filesystem::path> make_run_folder(const std::filesystem::path& wanted);

/// Says which of the kernels are compared with their default config alone; empty for none.
std::string yardstick_notice(const std::vector<KernelRef>& kernels);

/// Runs `fatune sweep`.
Result<int> sweep(const SweepArgs& args, const Settings& settings);

/// Runs rank 0, which distributes the problems, keeps the journal and prints the result, or another
/// rank, which serves rank 0.
Result<int> sweep_on_ranks(const SweepUse& use, const MakeRun& make_run, const Settings& settings);

}  // namespace fatune::cli
