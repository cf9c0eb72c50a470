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

/// Where a sweep runs.
struct SweepHosts {
  std::vector<std::string> devices;  ///< of this process, as --device takes each alone
  std::size_t cores = 1;             ///< of this process
  bool ranks = false;                ///< other processes have devices, too
  bool several() const { return ranks || devices.size() > 1; }
};

/// A sweep with every flag resolved.
struct ReadySweep {
  SweepOptions options;
  std::vector<KernelRef> kernels;
  OpenRequest device;                   ///< the only one, or the first
  std::vector<OpenRequest> lanes = {};  ///< devices that sweep problems side by side
  std::vector<Recording> imports;
  bool sanitize = false;
  std::optional<int> serve;  ///< a port
  bool names_folder = true;  ///< else options.out is to be made
  std::string device_words;  ///< " --device recorded:FILE"; empty where none was typed
};

/// Compile processes of each of `sweeps`: those of --jobs, or so many cores, in equal shares.
Result<std::size_t> jobs_of_each(const SweepArgs& args, std::size_t sweeps, std::size_t cores);
/// The kernels that the arguments name: those of --kernel, or all at hand of --size.
std::vector<std::string> named_kernels(const SweepArgs& args,
                                       const std::vector<KernelRef>& catalog);

Result<ReadySweep> make_ready(const SweepArgs& args, const SweepHosts& hosts,
                              const std::vector<KernelRef>& catalog, const Settings& settings);

}  // namespace fatune::cli
