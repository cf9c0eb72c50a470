// ncu_run.hpp - a program that launches a kernel, run under ncu, turned into counters or the reason
// why there are none.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/limits.hpp"
#include "tune/profile/counters.hpp"

namespace fatune {

enum class ProfileStatus {
  kProfiled,
  kDenied,  ///< the driver keeps the counters for administrators
  kFailed,  ///< ncu ran and gave nothing
  kNotRun   ///< no ncu, or no GPU
};
std::string_view name(ProfileStatus status);  ///< "profiled", "denied", "failed", "not_run"

struct NcuRequest {
  std::filesystem::path ncu;
  std::filesystem::path program;       ///< opens a profiler range around the launches that count
  std::vector<std::string> arguments;  ///< of the program
  Arch arch;
  /// "12.ncu-rep": ncu's own report is kept there, with every section that Nsight Compute shows;
  /// empty: nowhere.
  std::filesystem::path report{};
  std::chrono::seconds patience{180};
};

struct NcuOutcome {
  ProfileStatus status = ProfileStatus::kNotRun;
  std::string reason{};                 ///< for every status but profiled
  std::vector<std::string> remedies{};  ///< what the user can do about it
  std::vector<std::string> dropped{};   ///< metrics that this ncu or device does not have
  std::vector<Counters> launches{};
  std::string report{};  ///< file name of ncu's own; empty: not kept
};

/// ncu's arguments. Clocks stay as they are, caches are emptied before every pass.
std::vector<std::string> ncu_arguments(const NcuRequest& request,
                                       const std::vector<std::string>& metrics,
                                       const std::filesystem::path& csv);
/// Metrics that ncu does not know are dropped, and it runs again. Errors are those of the files and
/// of Ctrl-C only.
Result<NcuOutcome> run_ncu(const NcuRequest& request);
/// For when there is no ncu to run.
NcuOutcome no_ncu();

/// Names in messages such as "Failed to find metric NAME".
std::vector<std::string> unknown_metrics(std::string_view messages);

}  // namespace fatune
