// ready_sweep.hpp: Resolves the arguments of `fatune sweep` to a sweep that can start.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/imports.hpp"
#include "cli/options/session.hpp"
#include "cli/options/settings.hpp"
#include "cli/options/sweep_plan.hpp"
#include "core/result.hpp"
#include "tune/sweep/sweep.hpp"

namespace fatune::cli {

/// Devices and cores on which a sweep runs.
struct SweepHosts {
  std::vector<std::string> devices;  ///< devices of this process, each in the form of --device
  std::size_t cores = 1;             ///< cores of this process
  bool ranks = false;                ///< other processes also have devices
  bool several() const { return ranks || devices.size() > 1; }
};

/// A sweep with every flag resolved.
struct ReadySweep {
  SweepOptions options;
  std::vector<KernelRef> kernels;
  OpenRequest device;                   ///< only device, or the first device
  std::vector<OpenRequest> lanes = {};  ///< devices that sweep problems side by side
  std::vector<Recording> imports;
  bool sanitize = false;
  std::optional<int> serve;  ///< a port
  bool names_folder = true;  ///< false: options.out is created
  std::string device_words;  ///< " --device recorded:FILE"; empty without --device
};

/// Compile processes of each of `sweeps`: an equal share of --jobs, or of the cores.
Result<std::size_t> jobs_of_each(const SweepArgs& args, std::size_t sweeps, std::size_t cores);
/// Kernels of --kernel, or with --size all kernels of custom operations.
std::vector<std::string> named_kernels(const SweepArgs& args,
                                       const std::vector<KernelRef>& catalog);

Result<ReadySweep> make_ready(const SweepArgs& args, const SweepHosts& hosts,
                              const std::vector<KernelRef>& catalog, const Settings& settings);

}  // namespace fatune::cli
