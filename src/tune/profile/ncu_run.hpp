// ncu_run.hpp: Runs a program under ncu, and returns counters or the reason for having none.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/candidate.hpp"
#include "model/kernel/limits.hpp"
#include "tune/profile/counters.hpp"

namespace fatune {

enum class ProfileStatus {
  kProfiled,
  kDenied,  ///< the driver restricts the counters to administrators
  kFailed,  ///< ncu ran without a result
  kNotRun   ///< ncu or the GPU is missing
};
std::string_view name(ProfileStatus status);  ///< "profiled", "denied", "failed", "not_run"

struct NcuRequest {
  std::filesystem::path ncu;
  std::filesystem::path program;       ///< opens a profiler range around the measured launches
  std::vector<std::string> arguments;  ///< of the program
  Arch arch;
  /// File such as "12.ncu-rep" for ncu's report with every section of Nsight Compute; empty: none.
  std::filesystem::path report{};
  std::chrono::seconds patience{180};
};

struct NcuOutcome {
  ProfileStatus status = ProfileStatus::kNotRun;
  std::string reason{};                 ///< set unless the status is kProfiled
  std::vector<std::string> remedies{};  ///< actions for the user
  std::vector<std::string> dropped{};   ///< metrics that this ncu or device lacks
  std::vector<Counters> launches{};
  std::string report{};  ///< name of ncu's report file; empty: none
};

/// Returns ncu's arguments. Clocks are not locked; caches are flushed before every pass.
std::vector<std::string> ncu_arguments(const NcuRequest& request,
                                       const std::vector<std::string>& metrics,
                                       const std::filesystem::path& csv);
/// Runs ncu, again without metrics that ncu does not know. Only file errors and Ctrl-C are errors.
Result<NcuOutcome> run_ncu(const NcuRequest& request);
/// Profiles a candidate that passed every gate.
using CountKernel =
    std::function<Result<NcuOutcome>(const Candidate& candidate, const DeviceLimits& limits)>;
/// Returns the result without an ncu to run.
NcuOutcome no_ncu();

/// Returns the names in messages such as "Failed to find metric NAME".
std::vector<std::string> unknown_metrics(std::string_view messages);

}  // namespace fatune
