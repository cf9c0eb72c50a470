// sanitizer.hpp - a program under compute-sanitizer's tools to what each found.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/results/measurement.hpp"

namespace fatune {

struct SanitizerRequest {
  std::filesystem::path sanitizer;
  std::filesystem::path program;
  std::vector<std::string> arguments;
  std::chrono::seconds patience{120};  ///< for each tool; kernels run up to 100 times slower
};
/// One verdict for each tool. A tool that tells no summary, or whose program failed, is "not_run"
/// with what it said; only an interrupt is an error.
Result<std::vector<ToolVerdict>> run_sanitizer(const SanitizerRequest& request);

/// What a tool printed, to its verdict. `succeeded`: the program under it ended with 0.
ToolVerdict read_sanitizer(const std::string& tool, bool succeeded, std::string_view text);

}  // namespace fatune
