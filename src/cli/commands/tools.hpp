// tools.hpp: Runs ncu, compute-sanitizer and disassemblers on a candidate.
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
/// Searches PATH and bin/ of each CUDA folder.
std::optional<std::filesystem::path> find_tool(const std::string& name, const Settings& settings);

struct ProfileOptions {
  DeviceLimits limits;
  int device = 0;
  std::filesystem::path report{};  ///< file for ncu's report; empty: not kept
};
/// Outcome on a recorded device.
NcuOutcome no_counters();
/// Runs ncu around `fatune profile-worker` on machine code from the pool's cache. A missing ncu,
/// permission or counter is an outcome, not an error.
Result<NcuOutcome> take_profile(const Candidate& candidate, const ProfileOptions& options,
                                CompilePool& pool, const Settings& settings);
/// Reads the hardware counters of one candidate after another; a recorded device has none.
CountKernel counter_of(const DeviceChoice& device, const Settings& settings);

/// Runs the config at sanitizer_candidates() under every tool. A missing compute-sanitizer or a
/// recorded device gives "not_run" with the reason.
Result<std::vector<ToolVerdict>> sanitize(const Candidate& candidate, const DeviceLimits& limits,
                                          const DeviceChoice& device, const Settings& settings);

/// Launches the config once in a process of its own, without a gate. Writes each output as it lies
/// in memory to NAME.bin in the folder, and returns the files. A launch that fails or hangs is a
/// device error.
Result<std::vector<std::string>> keep_outputs(const Candidate& candidate,
                                              const DeviceLimits& limits, int device,
                                              const std::filesystem::path& folder,
                                              const Settings& settings);

/// Measures device use with ncu and a disassembler. ncu is not asked again once it gave no
/// counters, because scores compare common terms only.
CountUse make_count_use(const DeviceChoice& device, const DeviceLimits& limits,
                        const Settings& settings);

/// Disassembles machine code with a tool on PATH or in a CUDA folder. A missing or failing
/// disassembler is an environment error.
Result<std::string> disassembly_of(const std::filesystem::path& cubin, const Settings& settings);

struct CubinCensus {
  std::vector<Census> entries;  ///< empty: see reason
  std::string reason;           ///< reason if nothing was counted
  std::string remedy;
};
/// Counts instructions in the disassembly. A missing disassembler is an outcome.
CubinCensus census_of(const std::filesystem::path& cubin, const Settings& settings);
/// Table with a row for each class of instructions that occurs, and a column for each entry.
std::string census_text(const CubinCensus& census, const Paint& paint);

}  // namespace fatune::cli
