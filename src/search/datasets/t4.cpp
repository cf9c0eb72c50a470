// t4.cpp - T4 results to a recording.
#include <array>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "model/problem/problem.hpp"
#include "search/datasets/assemble.hpp"
#include "search/datasets/formats.hpp"
#include "search/datasets/json_pieces.hpp"
#include "search/datasets/objective.hpp"

namespace fatune {
namespace {

/// The schema's names and those of the files there are.
constexpr std::array<std::array<const char*, 2>, 5> kSpent = {{{"compilation_time", "compilation"},
                                                               {"benchmark_time", "benchmark"},
                                                               {"framework_time", "framework"},
                                                               {"search_time", "search_algorithm"},
                                                               {"validation_time", "validation"}}};
constexpr std::size_t kBenchmark = 1;  // its place among them
constexpr std::array<std::string_view, 6> kInvalidities = {"timeout",     "compile",     "runtime",
                                                           "correctness", "constraints", "correct"};

/// What the first result says and all share.
struct Common {
  std::string objective, unit;
  double seconds_per_time = 1e-3;  ///< of the unit of `times`
  std::vector<ListedAxis> axes;
};

/// What T4 files may say about themselves; kernel, device and problem only those that we write.
struct Metadata {
  std::string unit = "ms", kernel, device, problem;
};

Result<Metadata> read_metadata(std::string_view text, const std::string& where) {
  Metadata metadata;
  FATUNE_TRY(const std::string_view piece, find_member(text, "metadata", where));
  if (piece.empty()) return metadata;
  JsonPieces pieces(piece, where + ": metadata");
  FATUNE_TRY(const Json json, pieces.json());
  const Fields fields(json, where + ": metadata");
  FATUNE_TRY(const std::string unit, fields.text_or("timeunit", "milliseconds"));
  metadata.unit = short_unit(unit);
  FATUNE_TRY(metadata.kernel, fields.text_or("kernel", ""));
  FATUNE_TRY(metadata.device, fields.text_or("device", ""));
  if (fields.has("problem")) {
    FATUNE_TRY(const Problem problem, from_json<Problem>(json.at("problem"), fields.where()));
    metadata.problem = describe(problem);
  }
  return metadata;
}

/// "gemm" of "data/gemm.json.gz": T4 does not name the kernel.
std::string stem(const std::string& where) {
  std::filesystem::path path = std::filesystem::path(where).filename();
  while (path.has_extension()) path = path.stem();
  return path.string();
}

Result<std::string> objective_of(const Fields& result) {
  FATUNE_TRY(const auto objectives, result.texts_or("objectives", {}));
  return objectives.empty() ? std::string("time") : objectives.front();
}

const Json* find_measurement(const Json& result, const std::string& name) {
  const auto measurements = result.find("measurements");
  if (measurements == result.end() || !measurements->is_array()) return nullptr;
  for (const Json& measurement : *measurements) {
    if (measurement.is_object() && measurement.value("name", Json()) == name) return &measurement;
  }
  return nullptr;
}

Result<Common> read_common(const Json& first, const std::string& unit, const std::string& where) {
  const Fields fields(first, where);
  Common common;
  FATUNE_TRY(common.objective, objective_of(fields));
  FATUNE_TRY(const Fields configuration, fields.object("configuration"));
  for (const auto& item : configuration.json().items()) common.axes.push_back({item.key(), {}});
  common.unit = common.objective.starts_with("time") ? unit : "";
  common.seconds_per_time = seconds_per(unit);
  if (const Json* measurement = find_measurement(first, common.objective)) {
    FATUNE_TRY(const std::string own, Fields(*measurement, where).text_or("unit", ""));
    if (!own.empty()) common.unit = short_unit(own);
  }
  return common;
}

std::optional<double> mean_runtime(const Json& times) {
  const auto runtimes = times.find("runtimes");
  if (runtimes == times.end() || !runtimes->is_array() || runtimes->empty()) return std::nullopt;
  double sum = 0;
  for (const Json& runtime : *runtimes) {
    if (!runtime.is_number()) return std::nullopt;
    sum += runtime.get<double>();
  }
  return sum / static_cast<double>(runtimes->size());
}

std::optional<double> seconds_of(const Json& times, double seconds_per_time) {
  std::optional<double> sum;
  bool has_benchmark = false;
  for (std::size_t i = 0; i < kSpent.size(); ++i) {
    for (const char* spelling : kSpent[i]) {
      const auto spent = times.find(spelling);
      if (spent == times.end() || !spent->is_number()) continue;
      sum = sum.value_or(0) + spent->get<double>();
      has_benchmark = has_benchmark || i == kBenchmark;
      break;
    }
  }
  const auto mean = mean_runtime(times);
  if (!has_benchmark && mean)  // the runs themselves are the least that benchmarking took
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
  return file_error(configuration.where() + " has " + std::to_string(configuration.json().size()) +
                    " parameters, the first result has " + std::to_string(common.axes.size()));
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

/// The objective's value; a measured time may also be the mean of the runtimes.
std::optional<double> value_of(const Json& result, const Common& common) {
  const Json* measurement = find_measurement(result, common.objective);
  if (measurement != nullptr) {
    const auto value = measurement->find("value");
    if (value == measurement->end() || !value->is_number()) return std::nullopt;
    return value->get<double>();
  }
  const auto times = result.find("times");
  if (common.objective != "time" || times == result.end()) return std::nullopt;
  return mean_runtime(*times);
}

Result<ListedConfig> read_result(const Json& json, const Common& common, const std::string& where,
                                 std::size_t number) {
  ListedConfig config;
  config.place = fmt::format("results[{}]", number);
  const Fields result(json, where + ": " + config.place);
  FATUNE_TRY(const Fields configuration, result.object("configuration"));
  FATUNE_TRY(config.values, values_of(configuration, common));
  FATUNE_TRY(const std::string objective, objective_of(result));
  if (objective != common.objective) {
    return result.error("objectives", "begins with '" + objective + "', that of the first with '" +
                                          common.objective + "'");
  }
  FATUNE_TRY(config.entry.failure, failure_of(result));
  if (result.has("times"))
    config.entry.seconds = seconds_of(json.at("times"), common.seconds_per_time);
  if (!config.entry.failure.empty()) return config;
  config.entry.cost = value_of(json, common);
  if (!config.entry.cost) config.entry.failure = "unusable";
  return config;
}

}  // namespace

Result<Recording> read_t4(std::string_view text, const std::string& where) {
  FATUNE_TRY(const Metadata metadata, read_metadata(text, where));
  FATUNE_TRY(const std::string_view results, find_member(text, "results", where));
  JsonPieces pieces(results, where + ": results");
  FATUNE_TRY_STATUS(pieces.expect('['));
  Common common;
  std::vector<ListedConfig> configs;
  std::size_t unusable = 0;
  for (bool more = !pieces.skip(']'); more;) {
    FATUNE_TRY(const Json result, pieces.json());
    if (configs.empty()) {
      FATUNE_TRY(common, read_common(result, metadata.unit, where + ": results[0]"));
    }
    FATUNE_TRY(ListedConfig config, read_result(result, common, where, configs.size()));
    unusable += config.entry.failure == "unusable" ? 1 : 0;
    configs.push_back(std::move(config));
    FATUNE_TRY(more, pieces.another(']'));
  }
  Recording recording;
  recording.where = where;
  recording.format = "t4";
  recording.name = metadata.kernel.empty() ? stem(where) : metadata.kernel;
  recording.device = metadata.device;
  recording.problem = metadata.problem;
  recording.objective = common.objective;
  recording.unit = common.unit;
  if (unusable > 0) {
    recording.remarks.push_back(fmt::format("{} configs have no number as {}: taken as failed",
                                            unusable, common.objective));
  }
  FATUNE_TRY_STATUS(assemble(std::move(common.axes), std::move(configs), recording));
  return recording;
}

}  // namespace fatune
