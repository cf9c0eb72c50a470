// tools.hpp - a candidate to what NVIDIA's tools say of it: ncu, compute-sanitizer, disassemblers.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/session.hpp"
#include "core/result.hpp"
#include "model/kernel/candidate.hpp"
#include "model/kernel/limits.hpp"
#include "model/results/measurement.hpp"
#include "tune/compile/pool.hpp"
#include "tune/profile/census.hpp"
#include "tune/profile/ncu_run.hpp"
#include "tune/sweep/finals.hpp"
#include "worker/protocol/messages.hpp"

namespace fatune::cli {

struct OptionalTool {
  std::string name;
  std::string purpose;  ///< "checks winners for races"
};
std::vector<OptionalTool> optional_tools();
/// On PATH, or in bin/ of a CUDA folder.
std::optional<std::filesystem::path> find_tool(const std::string& name, const Settings& settings);

struct ProfileOptions {
  DeviceLimits limits;
  int device = 0;
  std::filesystem::path report{};  ///< ncu's own is kept there; empty: nowhere
};
/// Machine code from the pool's cache, a job file, ncu around `fatune profile-worker`. No ncu, no
/// permission and no counters are outcomes, not errors.
Result<NcuOutcome> take_profile(const Candidate& candidate, const ProfileOptions& options,
                                CompilePool& pool, const Settings& settings);

/// Runs the config at sanitizer_candidates() under every tool. Whatever keeps it from running, a
/// compute-sanitizer that is not installed or a recorded device, is the reason of "not_run".
Result<std::vector<ToolVerdict>> sanitize(const Candidate& candidate, const DeviceLimits& limits,
                                          const DeviceChoice& device, const Settings& settings);

/// By ncu and a disassembler, where there are any. Once ncu gave no counters it is not asked again:
/// scores are compared by the terms that all have.
CountUse make_count_use(const DeviceChoice& device, const DeviceLimits& limits,
                        const Settings& settings);

/// Machine code as text, by the disassembler on PATH or in a CUDA folder; none there, or one that
/// fails, is an environment error.
Result<std::string> disassembly_of(const std::filesystem::path& cubin, const Settings& settings);

struct CubinCensus {
  std::vector<Census> entries;  ///< empty: see reason
  std::string reason;           ///< why nothing was counted
  std::string remedy;
};
/// Of its disassembly; that there is none is an outcome.
CubinCensus census_of(const std::filesystem::path& cubin, const Settings& settings);
/// A row for each class of instructions that occurs, a column for each entry.
std::string census_text(const CubinCensus& census, const Paint& paint);

}  // namespace fatune::cli
