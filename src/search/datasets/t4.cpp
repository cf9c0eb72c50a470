// t4.cpp: Reads T4 results, and writes journals as T4 results.
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/units.hpp"
#include "model/problem/problem.hpp"
#include "search/datasets/formats.hpp"
#include "search/datasets/journal_dataset.hpp"

namespace fatune {
namespace {

/// Members of `times`: the schema's names, and the names in published files.
constexpr std::array<std::array<const char*, 2>, 5> kSpent = {{{"compilation_time", "compilation"},
                                                               {"benchmark_time", "benchmark"},
                                                               {"framework_time", "framework"},
                                                               {"search_time", "search_algorithm"},
                                                               {"validation_time", "validation"}}};
constexpr std::size_t kBenchmark = 1;  // place of the benchmark's time in kSpent
constexpr std::array<std::string_view, 6> kInvalidities = {"timeout",     "compile",     "runtime",
                                                           "correctness", "constraints", "correct"};

/// Values that all results share.
struct Common {
  Recording recording;
  double seconds_per_time = 1e-3;  ///< seconds in the unit of `times`
  std::vector<ListedAxis> axes;
};

/// Returns "gemm" for "data/gemm.json.gz", because T4 does not name the kernel.
std::string stem(const std::string& where) {
  std::filesystem::path path = std::filesystem::path(where).filename();
  while (path.has_extension()) path = path.stem();
  return path.string();
}

/// Reads the optional metadata; only fatune writes kernel, device and problem.
Result<Recording> read_metadata(std::string_view text, const std::string& where) {
  FATUNE_TRY(const Json json, find_object(text, "metadata", where));
  const Fields fields(json, where + ": metadata");
  Recording recording;
  recording.where = where;
  recording.format = "t4";
  FATUNE_TRY(const std::string unit, fields.text_or("timeunit", "milliseconds"));
  recording.unit = short_unit(unit);
  FATUNE_TRY(recording.name, fields.text_or("kernel", ""));
  if (recording.name.empty()) recording.name = stem(where);
  FATUNE_TRY(recording.device, fields.text_or("device", ""));
  FATUNE_TRY(recording.remarks, fields.texts_or("cautions", {}));
  if (fields.has("problem")) {
    FATUNE_TRY(const Problem problem, read_value<Problem>(json.at("problem"), fields.where()));
    recording.problem = describe(problem);
  }
  return recording;
}

const Json* find_measurement(const Json& result, const std::string& name) {
  const auto measurements = result.find("measurements");
  if (measurements == result.end() || !measurements->is_array()) return nullptr;
  for (const Json& measurement : *measurements) {
    if (measurement.is_object() && measurement.value("name", Json()) == name) return &measurement;
  }
  return nullptr;
}

/// Adds the shared values of the first result; the recording takes the unit of its times.
Status read_first(const Fields& result, Common& common) {
  Recording& recording = common.recording;
  FATUNE_TRY(const auto objectives, read_objectives(result, "objectives"));
  take_first(objectives, recording);
  FATUNE_TRY(const Fields configuration, result.object("configuration"));
  for (const auto& item : configuration.json().items()) common.axes.push_back({item.key()});
  common.seconds_per_time = seconds_per(recording.unit);
  if (!is_time(recording.objective)) recording.unit.clear();
  if (const Json* measurement = find_measurement(result.json(), recording.objective)) {
    FATUNE_TRY(const std::string own, Fields(*measurement, result.where()).text_or("unit", ""));
    if (!own.empty()) recording.unit = short_unit(own);
  }
  return {};
}

std::optional<double> seconds_of(const Json& times, double seconds_per_time) {
  std::optional<double> sum;
  bool has_benchmark = false;
  for (std::size_t i = 0; i < kSpent.size(); ++i) {
    for (const char* spelling : kSpent[i]) {
      const auto spent = number_at(times, spelling);
      if (!spent) continue;
      sum = sum.value_or(0) + *spent;
      has_benchmark = has_benchmark || i == kBenchmark;
      break;
    }
  }
  const auto mean = mean_at(times, "runtimes");
  if (!has_benchmark && mean)  // lower bound: the runs themselves
    sum = sum.value_or(0) + *mean * static_cast<double>(times.at("runtimes").size());
  if (sum) *sum *= seconds_per_time;
  return sum;
}

Result<std::vector<Value>> values_of(const Fields& configuration, const Common& common) {
  std::vector<Value> values;
  for (const ListedAxis& axis : common.axes) {
    FATUNE_TRY(const Json* value, configuration.value(axis.name));
    values.push_back(value_from_json(*value));
  }
  if (configuration.json().size() == common.axes.size()) return values;
  return file_error(fmt::format("{} has {} parameters, the first result has {}",
                                configuration.where(), configuration.json().size(),
                                common.axes.size()));
}

Result<std::string> failure_of(const Fields& result) {
  FATUNE_TRY(const std::string invalidity, result.text_or("invalidity", "correct"));
  for (const std::string_view known : kInvalidities) {
    if (invalidity == known) return invalidity == "correct" ? std::string() : invalidity;
  }
  return result.error("invalidity", "is '" + invalidity +
                                        "', not one of timeout, compile, runtime, correctness, "
                                        "constraints, correct");
}

/// Returns the objective's value; for a missing time, the mean of the runtimes.
std::optional<double> value_of(const Json& result, const std::string& objective) {
  const Json* measurement = find_measurement(result, objective);
  if (measurement != nullptr) return number_at(*measurement, "value");
  const auto times = result.find("times");
  if (objective != "time" || times == result.end()) return std::nullopt;
  return mean_at(*times, "runtimes");
}

Result<ListedConfig> read_result(const Fields& result, const Common& common,
                                 const std::string& place) {
  ListedConfig config;
  config.place = place;
  FATUNE_TRY(const Fields configuration, result.object("configuration"));
  FATUNE_TRY(config.values, values_of(configuration, common));
  FATUNE_TRY(const auto objectives, read_objectives(result, "objectives"));
  const std::string& objective = objectives.front();
  if (objective != common.recording.objective) {
    return result.error("objectives", fmt::format("begins with '{}', that of the first with '{}'",
                                                  objective, common.recording.objective));
  }
  FATUNE_TRY(config.entry.failure, failure_of(result));
  if (result.has("times"))
    config.entry.seconds = seconds_of(result.json().at("times"), common.seconds_per_time);
  if (config.entry.failure.empty()) config.entry.cost = value_of(result.json(), objective);
  return config;
}

/// Returns the times; compilation has the schema's name and that of published files.
Json times_of(const CandidateRecord& record) {
  const double compilation = record.spent.compile_s * kMsPerSecond;
  return {{"compilation_time", compilation},
          {"compilation", compilation},
          {"benchmark", record.spent.timing_s * kMsPerSecond},
          {"framework", 0},
          {"search_algorithm", 0},
          {"validation", record.spent.verify_s * kMsPerSecond},
          {"runtimes", Json::array()}};
}

void add(Json& measurements, const char* name, Json value, const char* unit) {
  measurements.push_back({{"name", name}, {"value", std::move(value)}, {"unit", unit}});
}

Json measurements_of(const ToldRecord& config, Time time) {
  Json measurements = Json::array();
  const CandidateRecord& record = config.record;
  if (config.us) add(measurements, "time", *config.us / kUsPerMs, "ms");
  if (const auto& timing = searched_timing(record, time)) {
    add(measurements, "time_q1", timing->q1_us / kUsPerMs, "ms");
    add(measurements, "time_q3", timing->q3_us / kUsPerMs, "ms");
    add(measurements, "time_min", timing->min_us / kUsPerMs, "ms");
    add(measurements, "samples", timing->samples, "");
  }
  if (record.verification && !record.verification->skipped)
    add(measurements, "error_over_tolerance", record.verification->margin, "");
  if (record.resources) {
    add(measurements, "registers", record.resources->registers, "");
    const auto shared =
        record.resources->static_shared_bytes + record.resources->dynamic_shared_bytes;
    add(measurements, "shared_memory", shared, "bytes");
  }
  add(measurements, "outcome", name(record.outcome), "");
  if (!record.reason.empty()) add(measurements, "reason", record.reason, "");
  return measurements;
}

/// Returns the schema's word for the failure; it has none for a candidate without a usable time.
std::string invalidity_of(const ToldRecord& config) {
  if (config.us) return "correct";
  return config.failure == "unusable" ? "runtime" : config.failure;
}

}  // namespace

Result<Recording> read_t4(std::string_view text, const std::string& where) {
  Common common;
  FATUNE_TRY(common.recording, read_metadata(text, where));
  std::vector<ListedConfig> configs;
  std::size_t unusable = 0;
  const auto take = [&](const Json& json, const std::string& place) -> Status {
    const Fields result(json, where + ": " + place);
    if (configs.empty()) FATUNE_TRY_STATUS(read_first(result, common));
    FATUNE_TRY(ListedConfig config, read_result(result, common, place));
    unusable += !config.entry.cost && config.entry.failure.empty() ? 1 : 0;
    configs.push_back(std::move(config));
    return {};
  };
  FATUNE_TRY_STATUS(for_each_in(text, "results", where, take));
  if (unusable > 0) {
    common.recording.remarks.push_back(fmt::format(
        "{} configs have no number as {}: taken as failed", unusable, common.recording.objective));
  }
  return assemble(std::move(common.recording), std::move(common.axes), std::move(configs));
}

Json t4_results(const JournalGroup& group, const Journal& journal) {
  Json results = Json::array();
  for (const ToldRecord& config : group.configs) {
    results.push_back({{"configuration", config.record.config},
                       {"times", times_of(config.record)},
                       {"invalidity", invalidity_of(config)},
                       {"correctness", config.checked ? 1 : 0},
                       {"measurements", measurements_of(config, group.time)},
                       {"objectives", Json::array({"time"})}});
  }
  return {{"schema_version", "1.0.0"},
          {"metadata",
           {{"timeunit", "milliseconds"},
            {"kernel", group.kernel},
            {"problem", to_json(group.problem.problem)},
            {"device", journal.header.environment.device_name},
            {"timing", name(group.time)},
            {"cautions", cautions(journal.header)}}},
          {"results", std::move(results)}};
}

}  // namespace fatune
