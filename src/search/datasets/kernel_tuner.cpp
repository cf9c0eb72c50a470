// kernel_tuner.cpp - a Kernel Tuner cache file, with everything that such files do, to a recording.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "model/problem/problem.hpp"
#include "search/datasets/assemble.hpp"
#include "search/datasets/formats.hpp"
#include "search/datasets/json_pieces.hpp"
#include "search/datasets/objective.hpp"

namespace fatune {
namespace {

/// Any field may hold one of these.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kErrors = {
    {{"CompilationFailedConfig", "compile"},
     {"RuntimeFailedConfig", "runtime"},
     {"InvalidConfig", "constraints"},
     {"ErrorConfig", "runtime"}}};
/// What we write beside the error, which knows neither timeouts nor wrong results.
constexpr const char* kOurFailure = "fatune_failure";
constexpr const char* kOurProblem = "fatune_problem";
constexpr std::array<const char*, 5> kSpent = {"compile_time", "verification_time",
                                               "benchmark_time", "strategy_time", "framework_time"};
constexpr double kDisagreement = 0.02;  // of `time` and the mean of `times`; chosen

struct Header {
  std::string kernel, device, problem, objective = "time";
  std::vector<ListedAxis> axes;
};

/// How often something odd was met, for the remarks.
struct Oddities {
  std::size_t from_key = 0, from_times = 0, disagreeing = 0, without_value = 0;
  bool closed = true;
};

Result<std::vector<ListedAxis>> read_axes(const Fields& header) {
  FATUNE_TRY(const auto names, header.texts_or("tune_params_keys", {}));
  std::vector<ListedAxis> axes;
  for (const std::string& name : names) axes.push_back({name, {}});
  if (!header.has("tune_params")) return axes;
  FATUNE_TRY(const Fields declared, header.object("tune_params"));
  if (axes.empty()) {
    for (const auto& item : declared.json().items()) axes.push_back({item.key(), {}});
  }
  for (ListedAxis& axis : axes) {
    if (!declared.has(axis.name)) continue;
    FATUNE_TRY(const Json* values, declared.value(axis.name));
    if (!values->is_array()) return declared.error(axis.name, "must be a list of values");
    for (const Json& value : *values) axis.declared.push_back(value_from_json(value));
  }
  return axes;
}

/// 4096, [4096, 4096] or a text; in our own files a problem beside it.
Result<std::string> problem_text(const Fields& header) {
  if (header.has(kOurProblem)) {
    FATUNE_TRY(const Json* json, header.value(kOurProblem));
    FATUNE_TRY(const Problem problem, from_json<Problem>(*json, header.where()));
    return describe(problem);
  }
  if (!header.has("problem_size")) return std::string();
  FATUNE_TRY(const Json* size, header.value("problem_size"));
  if (size->is_string()) return size->get<std::string>();
  if (!size->is_array()) return dump(*size);
  std::vector<std::string> parts;
  for (const Json& part : *size) parts.push_back(dump(part));
  return join(parts, "x");
}

Result<Header> read_header(const Json& json, const std::string& where) {
  const Fields fields(json, where);
  Header header;
  FATUNE_TRY(header.kernel, fields.text_or("kernel_name", ""));
  FATUNE_TRY(header.device, fields.text_or("device_name", ""));
  FATUNE_TRY(header.objective, fields.text_or("objective", "time"));
  FATUNE_TRY(header.problem, problem_text(fields));
  FATUNE_TRY(header.axes, read_axes(fields));
  if (header.axes.empty())
    return file_error(where +
                      ": names no parameters: tune_params_keys and tune_params are missing");
  return header;
}

/// The declared value that Python's text of a parameter stands for.
Value value_of_text(std::string_view text, const std::vector<Value>& declared) {
  for (const Value& value : declared) {
    if (python_text(value) == text) return value;
  }
  return value_from_python(text);
}

Result<std::vector<Value>> values_of(const Json& entry, const std::string& key,
                                     const Header& header, const std::string& where,
                                     Oddities& odd) {
  std::vector<Value> values;
  for (const ListedAxis& axis : header.axes) {
    const auto found = entry.find(axis.name);
    if (found == entry.end()) break;
    values.push_back(value_from_json(*found));
  }
  if (values.size() == header.axes.size()) return values;
  ++odd.from_key;
  const std::vector<std::string> parts = split(key, ',');
  if (parts.size() != header.axes.size()) {
    return file_error(fmt::format("{}: key '{}' has {} values, but there are {} parameters", where,
                                  key, parts.size(), header.axes.size()));
  }
  values.clear();
  for (std::size_t i = 0; i < parts.size(); ++i)
    values.push_back(value_of_text(parts[i], header.axes[i].declared));
  return values;
}

bool is_parameter(const Header& header, const std::string& name) {
  return std::any_of(header.axes.begin(), header.axes.end(),
                     [&](const ListedAxis& axis) { return axis.name == name; });
}

/// Empty when the entry was measured.
std::string failure_of(const Json& entry, const Header& header) {
  const auto ours = entry.find(kOurFailure);
  if (ours != entry.end() && ours->is_string()) return ours->get<std::string>();
  for (const auto& [name, value] : entry.items()) {
    if (!value.is_string() || is_parameter(header, name)) continue;
    const std::string& text = value.get_ref<const std::string&>();
    for (const auto& [error, failure] : kErrors) {
      if (error == text) return std::string(failure);
    }
    if (name == "__error__") return "runtime";
  }
  return "";
}

/// Of a list of times; of pairs of a number and a time, as HIP files have them, too.
std::optional<double> mean_of_times(const Json& entry) {
  const auto times = entry.find("times");
  if (times == entry.end() || !times->is_array() || times->empty()) return std::nullopt;
  double sum = 0;
  for (const Json& time : *times) {
    const bool nested = time.is_array() && !time.empty();
    const Json& value = nested ? time.back() : time;
    if (!value.is_number()) return std::nullopt;
    sum += value.get<double>();
  }
  return sum / static_cast<double>(times->size());
}

/// The objective's value. `time` counts, not `times`, which do not always agree with it.
std::optional<double> value_of(const Json& entry, const std::string& objective, Oddities& odd) {
  const auto found = entry.find(objective);
  const auto mean = objective == "time" ? mean_of_times(entry) : std::nullopt;
  if (found != entry.end() && found->is_number()) {
    const double value = found->get<double>();
    if (mean && std::abs(*mean - value) > kDisagreement * std::abs(value)) ++odd.disagreeing;
    return value;
  }
  if (mean && found == entry.end()) ++odd.from_times;
  return found == entry.end() ? mean : std::nullopt;
}

std::optional<double> seconds_of(const Json& entry) {
  std::optional<double> sum;
  for (const char* name : kSpent) {
    const auto spent = entry.find(name);
    if (spent == entry.end() || !spent->is_number()) continue;
    sum = sum.value_or(0) + spent->get<double>() * seconds_per("ms");
  }
  return sum;
}

Result<ListedConfig> read_entry(const std::string& key, const Json& entry, const Header& header,
                                const std::string& where, Oddities& odd) {
  ListedConfig config;
  config.place = "key '" + key + "'";
  if (!entry.is_object()) return file_error(where + ": " + config.place + " must be an object");
  FATUNE_TRY(config.values, values_of(entry, key, header, where, odd));
  config.entry.failure = failure_of(entry, header);
  config.entry.seconds = seconds_of(entry);
  if (!config.entry.failure.empty()) return config;
  config.entry.cost = value_of(entry, header.objective, odd);
  if (!config.entry.cost) {
    ++odd.without_value;
    config.entry.failure = "unusable";
  }
  return config;
}

/// The entries up to the end of the cache or of the file. Kernel Tuner adds a line at a time and
/// closes the brackets at the end, so a file that ends after an entry is whole.
Result<std::vector<ListedConfig>> read_entries(JsonPieces& pieces, const Header& header,
                                               const std::string& where, Oddities& odd) {
  std::vector<ListedConfig> configs;
  FATUNE_TRY_STATUS(pieces.expect('{'));
  while (!pieces.skip('}')) {
    if (pieces.at_end()) {
      odd.closed = false;
      return configs;
    }
    FATUNE_TRY(const std::string key, pieces.name());
    FATUNE_TRY(const Json entry, pieces.json());
    FATUNE_TRY(ListedConfig config, read_entry(key, entry, header, where, odd));
    configs.push_back(std::move(config));
    if (pieces.next() != '}' && !pieces.at_end()) FATUNE_TRY_STATUS(pieces.expect(','));
  }
  return configs;
}

void add_remarks(const Header& header, const Oddities& odd, Recording& recording) {
  const auto remark = [&](std::size_t count, const std::string& text) {
    if (count > 0) recording.remarks.push_back(fmt::format("{} {}", count, text));
  };
  if (!odd.closed) recording.remarks.emplace_back("unclosed file: accepted");
  remark(odd.from_key, "configs have their parameters only in the key");
  remark(odd.from_times, "configs have no time: the mean of their times counts");
  remark(odd.disagreeing, "configs have times that disagree with their time: the time counts");
  remark(odd.without_value, "configs have no number as " + header.objective + ": taken as failed");
}

}  // namespace

Result<Recording> read_kernel_tuner(std::string_view text, const std::string& where) {
  JsonPieces pieces(text, where);
  FATUNE_TRY_STATUS(pieces.expect('{'));
  Json members = Json::object();
  std::optional<JsonPieces> cache;  // read when all members are known
  Oddities odd;
  for (bool more = true; more && odd.closed;) {
    FATUNE_TRY(const std::string name, pieces.name());
    if (name == "cache") {
      cache = pieces;
      odd.closed = static_cast<bool>(pieces.value()) && !pieces.at_end();
      if (!odd.closed) break;
    } else {
      FATUNE_TRY(members[name], pieces.json());
    }
    FATUNE_TRY(more, pieces.another('}'));
  }
  FATUNE_TRY(Header header, read_header(members, where));
  if (!cache) return file_error(where + ": has no cache");
  FATUNE_TRY(std::vector<ListedConfig> configs, read_entries(*cache, header, where, odd));
  const bool rate = header.objective.find('/') != std::string::npos;
  Recording recording;
  recording.where = where;
  recording.format = "kernel-tuner";
  recording.name = header.kernel;
  recording.device = header.device;
  recording.problem = header.problem;
  recording.objective = header.objective;
  recording.unit = header.objective.starts_with("time") ? "ms" : rate ? header.objective : "";
  add_remarks(header, odd, recording);
  FATUNE_TRY_STATUS(assemble(std::move(header.axes), std::move(configs), recording));
  return recording;
}

}  // namespace fatune
