// compile_messages.cpp - what pool and compile workers say, to arguments and JSON objects, and
// back.
#include "worker/protocol/compile_messages.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace fatune {
namespace {

constexpr const char* kWhere = "message between pool and compile worker";

}  // namespace

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

Json to_json(const Greeting& greeting) {
  return {{"problem", greeting.problem},
          {"path", greeting.path},
          {"version", greeting.version},
          {"identity", greeting.identity},
          {"archs", greeting.archs}};
}

Result<Greeting> greeting_from_json(const Json& object) {
  const Fields fields(object, kWhere);
  Greeting greeting;
  FATUNE_TRY(greeting.problem, fields.text("problem"));
  FATUNE_TRY(greeting.path, fields.text("path"));
  FATUNE_TRY(greeting.version, fields.text("version"));
  FATUNE_TRY(greeting.identity, fields.text("identity"));
  FATUNE_TRY(const Json* archs, fields.value("archs"));
  for (const auto& arch : *archs) {
    if (!arch.is_number_integer()) return fields.error("archs", "must be whole numbers");
    greeting.archs.push_back(arch.get<int>());
  }
  return greeting;
}

Json to_json(const Reply& reply) {
  return {{"compiled", to_json(reply.compiled)},
          {"cache_problem", reply.cache_problem},
          {"failure", reply.failure}};
}

Result<Reply> reply_from_json(const Json& object) {
  const Fields fields(object, kWhere);
  Reply reply;
  FATUNE_TRY(const Json* compiled, fields.value("compiled"));
  FATUNE_TRY(reply.compiled, compiled_from_json(*compiled, kWhere));
  FATUNE_TRY(reply.cache_problem, fields.text("cache_problem"));
  FATUNE_TRY(reply.failure, fields.text("failure"));
  return reply;
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
