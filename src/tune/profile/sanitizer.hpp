// sanitizer.hpp - the problems at which compute-sanitizer looks at a config, and a program under
// its tools to what each found.
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

/// The config at the last small edge problem that it can do, since the later ones have more in
/// them, and at the one with more work tiles than a wave if it can do no other or is_persistent().
Result<std::vector<Candidate>> sanitizer_candidates(Candidate candidate,
                                                    const DeviceLimits& limits);

struct SanitizerRequest {
  std::filesystem::path sanitizer;
  std::filesystem::path program;
  std::vector<std::string> arguments;
  std::chrono::seconds patience{120};  ///< for each tool; kernels run up to 100 times slower
};
/// One verdict for each tool. A tool that tells no summary, or whose program failed, is "not_run"
/// with what it said; only an interrupt is an error.
Result<std::vector<ToolVerdict>> run_sanitizer(const SanitizerRequest& request);

/// For each tool what it said of every run: failed where it failed once, passed where it always
/// passed.
std::vector<ToolVerdict> worst_of(const std::vector<std::vector<ToolVerdict>>& runs);

/// What a tool printed, to its verdict. `succeeded`: the program under it ended with 0.
ToolVerdict read_sanitizer(const std::string& tool, bool succeeded, std::string_view text);

}  // namespace fatune
