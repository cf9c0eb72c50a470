// compile_messages.cpp - what pool and compile workers say, to arguments and JSON objects, and
// back.
#include "worker/protocol/compile_messages.hpp"

#include <algorithm>

#include "core/fields.hpp"

namespace fatune {
std::vector<std::string> to_arguments(const WorkerOptions& options) {
  std::vector<std::string> arguments;
  const auto add = [&](const char* flag, const std::filesystem::path& value) {
    arguments.emplace_back(flag);
    arguments.push_back(value.string());
  };
  for (const auto& place : options.toolchain.nvrtc) add("--nvrtc", place);
  for (const auto& folder : options.toolchain.include_folders) add("--include", folder);
  add("--cache", options.cache);
  add("--fallback", options.fallback);
  return arguments;
}

Result<WorkerOptions> parse_worker_arguments(std::span<const std::string> args) {
  WorkerOptions options;
  if (args.size() % 2 != 0) return usage_error("compile-worker: a flag has no value");
  for (std::size_t i = 0; i < args.size(); i += 2) {
    const std::string& flag = args[i];
    const std::string& value = args[i + 1];
    if (flag == "--nvrtc") {
      options.toolchain.nvrtc.emplace_back(value);
    } else if (flag == "--include") {
      options.toolchain.include_folders.emplace_back(value);
    } else if (flag == "--cache") {
      options.cache = value;
    } else if (flag == "--fallback") {
      options.fallback = value;
    } else {
      return usage_error("compile-worker: unknown flag " + flag);
    }
  }
  if (options.cache.empty()) return usage_error("compile-worker: --cache is missing");
  return options;
}

void fields(Greeting& x, FieldList& f) {
  f("problem", x.problem).required();
  f("path", x.path).required();
  f("version", x.version).required();
  f("identity", x.identity).required();
  f("archs", x.archs).required();
}

void fields(Reply& x, FieldList& f) {
  f("compiled", x.compiled).required();
  f("cache_problem", x.cache_problem).required();
  f("failure", x.failure).required();
}

std::string unsupported_arch(const Arch& arch, const std::string& version,
                             const std::vector<int>& archs) {
  if (std::find(archs.begin(), archs.end(), arch.number) != archs.end()) return "";
  std::string known;
  for (const int number : archs) known += (known.empty() ? "" : ", ") + std::to_string(number);
  return "NVRTC " + version + " cannot compile for " + name(arch) + " (it knows " + known +
         "); name another with --nvrtc PATH, or pip install nvidia-cuda-nvrtc";
}

}  // namespace fatune
