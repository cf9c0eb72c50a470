// kernelbot.hpp - a problem of KernelBot, task.yml and its reference, read as text, to the
// attention of its benchmarks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/problem/suite.hpp"

namespace fatune {

/// What of a task says its problems.
struct KernelBotTask {
  std::string reference;  ///< path of reference.py, from the task's folder
  std::vector<std::map<std::string, std::int64_t>> benchmarks{};  ///< arguments by name
};

/// Members that it does not know are passed over. Errors are file errors with file and field.
Result<KernelBotTask> parse_kernelbot(std::string_view text, const std::string& where);
/// Problems "benchmark-1" and so on, of those sizes: generate_input() makes the tensors of which
/// ref_kernel() is attention (reference.hpp). One that is an earlier one, with another seed, is
/// left out.
Result<Suite> suite_of(const KernelBotTask& task, std::string_view reference,
                       const std::string& where);
/// task.yml, and the reference in its folder or below it; links out of it are refused.
Result<Suite> load_kernelbot(const std::filesystem::path& task);

}  // namespace fatune
