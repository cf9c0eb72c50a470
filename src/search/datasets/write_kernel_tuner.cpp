// write_kernel_tuner.cpp - candidates to the lines of a Kernel Tuner cache.
#include "search/datasets/write_kernel_tuner.hpp"

#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "core/units.hpp"
#include "search/datasets/assemble.hpp"

namespace fatune {
namespace {

std::string error_name(const std::string& failure) {
  if (failure == "compile") return "CompilationFailedConfig";
  return failure == "constraints" ? "InvalidConfig" : "RuntimeFailedConfig";
}

/// Its parameters' values, each once: numbers ascending, others as they come.
Json tune_params(const JournalGroup& group) {
  Json params = Json::object();
  for (const JournalledConfig& config : group.configs) {
    for (const auto& [name, value] : config.record.config.items()) {
      Json& values = params[name];
      if (values.is_null()) values = Json::array();
      if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    }
  }
  for (Json& values : params) {
    const bool numbers = std::all_of(values.begin(), values.end(),
                                     [](const Json& value) { return value.is_number(); });
    if (numbers) std::sort(values.begin(), values.end());
  }
  return params;
}

Json sizes_of(const Problem& problem) {
  if (!problem.custom) {
    return {problem.batch, problem.heads,  problem.kv_heads,
            problem.seq_q, problem.seq_kv, problem.head_dim};
  }
  Json sizes = Json::array();
  for (const NamedSize& size : problem.custom->sizes) sizes.push_back(size.value);
  return sizes;
}

Json header_of(const JournalGroup& group, const Journal& journal) {
  const Problem& problem = group.problem.problem;
  Json keys = Json::array();
  for (const auto& item : group.configs.front().record.config.items()) keys.push_back(item.key());
  return {{"device_name", journal.header.environment.device_name},
          {"kernel_name", group.kernel},
          {"problem_size", sizes_of(problem)},
          {"fatune_problem", to_json(problem)},
          {"tune_params_keys", keys},
          {"tune_params", tune_params(group)},
          {"objective", "time"}};
}

/// Values as Python prints them, in the order of the parameters.
Result<std::string> key_of(const Json& config) {
  std::vector<std::string> parts;
  for (const auto& item : config.items()) {
    parts.push_back(python_text(value_from_json(item.value())));
    if (parts.back().find(',') == std::string::npos) continue;
    return usage_error("Kernel Tuner cannot hold " + item.key() + "=" + parts.back() +
                       ": commas part its keys");
  }
  return join(parts, ",");
}

Json entry_of(const JournalledConfig& config) {
  Json entry = config.record.config;
  if (config.us) {
    entry["time"] = *config.us / kUsPerMs;
  } else {
    entry["time"] = error_name(config.failure);
    entry["__error__"] = error_name(config.failure);
    entry["fatune_failure"] = config.failure;
  }
  entry["compile_time"] = config.record.spent.compile_s * kMsPerSecond;
  entry["verification_time"] = config.record.spent.verify_s * kMsPerSecond;
  entry["benchmark_time"] = config.record.spent.timing_s * kMsPerSecond;
  entry["strategy_time"] = 0;
  entry["framework_time"] = 0;
  return entry;
}

}  // namespace

Result<std::string> kernel_tuner_cache(const JournalGroup& group, const Journal& journal) {
  std::string text = dump(header_of(group, journal));
  text.pop_back();  // its closing bracket comes last
  text += ", \"cache\": {";
  std::string separator = "\n";
  for (const JournalledConfig& config : group.configs) {
    FATUNE_TRY(const std::string key, key_of(config.record.config));
    text += separator + dump(Json(key)) + ": " + dump(entry_of(config));
    separator = ",\n";
  }
  return text + "}\n}";  // Kernel Tuner cuts these three characters off to go on
}

}  // namespace fatune
