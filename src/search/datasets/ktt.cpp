// ktt.cpp: Reads results of the Kernel Tuning Toolkit.
#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "search/datasets/formats.hpp"

namespace fatune {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kStatuses = {
    {{"Ok", ""},
     {"ComputationFailed", "runtime"},
     {"ValidationFailed", "correctness"},
     {"CompilationFailed", "compile"},
     {"DeviceLimitsExceeded", "constraints"}}};

struct KttKernel {
  std::string name;
  std::vector<ListedAxis> axes;
  std::vector<ListedConfig> configs;
};

/// Kernels in the order of their first results.
struct KttKernels {
  std::vector<KttKernel> list;
  std::unordered_map<std::string, std::size_t> places;
};

/// Reads the members that all kernels share.
Result<Recording> read_ktt_metadata(std::string_view text, const std::string& where) {
  FATUNE_TRY(const Json json, find_object(text, "Metadata", where));
  const Fields fields(json, where + ": Metadata");
  Recording recording;
  recording.format = "ktt";
  recording.objective = "time";
  FATUNE_TRY(recording.device, fields.text_or("Device", ""));
  FATUNE_TRY(const std::string unit, fields.text_or("TimeUnit", "Microseconds"));
  recording.unit = short_unit(unit);
  if (seconds_per(recording.unit) > 0) return recording;
  return fields.error("TimeUnit", "is '" + unit + "', which is no unit of time");
}

Result<std::string> failure_by_status(const Fields& result) {
  FATUNE_TRY(const std::string status, result.text_or("Status", "Ok"));
  const auto* found =
      std::ranges::find_if(kStatuses, [&](const auto& each) { return each.first == status; });
  if (found != kStatuses.end()) return std::string(found->second);
  return result.error("Status", "is '" + status +
                                    "', not one of Ok, ComputationFailed, ValidationFailed, "
                                    "CompilationFailed, DeviceLimitsExceeded");
}

/// Returns the values in the parameter order of the kernel's first result.
Result<std::vector<Value>> read_configuration(const Fields& result, KttKernel& kernel) {
  FATUNE_TRY(const auto pairs, result.objects_or_empty("Configuration"));
  FATUNE_TRY_STATUS(check_parameters(pairs.size(), result.where()));
  if (kernel.configs.empty()) {
    for (const Fields& pair : pairs) {
      FATUNE_TRY(std::string name, pair.text("Name"));
      kernel.axes.push_back({std::move(name)});
    }
  }
  if (pairs.size() != kernel.axes.size()) {
    return result.error("Configuration", fmt::format("has {} parameters, the first result has {}",
                                                     pairs.size(), kernel.axes.size()));
  }
  std::vector<Value> values(kernel.axes.size());
  std::vector<bool> known(kernel.axes.size(), false);
  for (const Fields& pair : pairs) {
    FATUNE_TRY(const std::string name, pair.text("Name"));
    FATUNE_TRY(const Json* value, pair.value("Value"));
    const auto axis = std::ranges::find(kernel.axes, name, &ListedAxis::name);
    const auto position = static_cast<std::size_t>(axis - kernel.axes.begin());
    if (axis == kernel.axes.end() || known[position])
      return pair.error("Name", "is '" + name + "', which is no parameter here or repeated");
    known[position] = true;
    values[position] = value_from_json(*value);
  }
  return values;
}

Status read_result(const Fields& result, const std::string& unit, const std::string& place,
                   KttKernels& kernels) {
  FATUNE_TRY(const std::string name, result.text_or("KernelName", ""));
  const auto [at, fresh] = kernels.places.try_emplace(name, kernels.list.size());
  if (fresh) kernels.list.push_back({name, {}, {}});
  KttKernel& kernel = kernels.list[at->second];
  ListedConfig config;
  config.place = place;
  FATUNE_TRY(config.values, read_configuration(result, kernel));
  FATUNE_TRY(config.entry.failure, failure_by_status(result));
  const auto duration = number_at(result.json(), "TotalDuration");
  const auto overhead = number_at(result.json(), "TotalOverhead");
  if (duration || overhead)
    config.entry.seconds = (duration.value_or(0) + overhead.value_or(0)) * seconds_per(unit);
  if (config.entry.failure.empty()) config.entry.cost = duration;
  kernel.configs.push_back(std::move(config));
  return {};
}

}  // namespace

Result<std::vector<Recording>> read_ktt(std::string_view text, const std::string& where) {
  FATUNE_TRY(const Recording metadata, read_ktt_metadata(text, where));
  KttKernels kernels;
  const auto take = [&](const Json& json, const std::string& place) {
    return read_result(Fields(json, where + ": " + place), metadata.unit, place, kernels);
  };
  FATUNE_TRY_STATUS(for_each_in(text, "Results", where, take));
  if (kernels.list.empty()) return file_error(where + ": holds no config");
  std::vector<Recording> recordings;
  for (KttKernel& kernel : kernels.list) {
    Recording recording = metadata;
    recording.where = kernels.list.size() > 1 ? where + ": " + kernel.name : where;
    recording.name = kernel.name;
    FATUNE_TRY(recording,
               assemble(std::move(recording), std::move(kernel.axes), std::move(kernel.configs)));
    recordings.push_back(std::move(recording));
  }
  return recordings;
}

}  // namespace fatune
