// sanitizer.hpp: Chooses problems for compute-sanitizer, runs its tools, and reads verdicts.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/candidate.hpp"
#include "model/kernel/limits.hpp"
#include "model/results/measurement.hpp"

namespace fatune {

/// Returns the config on the last small edge problem that it supports, as later ones have more
/// features. Adds the problem with more work tiles than a wave if the config supports no other or
/// is_persistent().
Result<std::vector<Candidate>> sanitizer_candidates(Candidate candidate,
                                                    const DeviceLimits& limits);

struct SanitizerRequest {
  std::filesystem::path sanitizer;
  std::filesystem::path program;
  std::vector<std::string> arguments;
  std::chrono::seconds patience{120};  ///< per tool; kernels run up to 100 times slower
};
/// Returns one verdict per tool. A tool without a summary, or whose program failed, is "not_run"
/// with its output; only an interrupt is an error.
Result<std::vector<ToolVerdict>> run_sanitizer(const SanitizerRequest& request);

/// Combines the verdicts of several runs per tool: failed if any run failed, passed if all passed.
std::vector<ToolVerdict> worst_of(const std::vector<std::vector<ToolVerdict>>& runs);

/// Reads a tool's output. `succeeded`: the program under the tool exited with 0.
ToolVerdict read_sanitizer(const std::string& tool, bool succeeded, std::string_view text);

}  // namespace fatune
