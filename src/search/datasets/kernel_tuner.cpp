// kernel_tuner.cpp: Reads Kernel Tuner's cache files, and writes journals as cache files.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "model/problem/problem.hpp"
#include "search/datasets/formats.hpp"
#include "search/datasets/journal_dataset.hpp"

namespace fatune {
namespace {

/// Failures as Kernel Tuner spells them in any field, and as RecordedEntry::failure does.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kErrors = {
    {{"CompilationFailedConfig", "compile"},
     {"RuntimeFailedConfig", "runtime"},
     {"InvalidConfig", "constraints"},
     {"ErrorConfig", "runtime"}}};
/// The member with fatune's outcome; Kernel Tuner's errors have no timeout and no wrong result.
constexpr const char* kOurFailure = "fatune_failure";
constexpr const char* kOurProblem = "fatune_problem";
constexpr const char* kOurCautions = "fatune_cautions";
constexpr std::array<const char*, 5> kSpentOn = {
    "compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time"};
constexpr double kDisagreement = 0.02;  // share, between `time` and the mean of `times`; chosen

struct Header {
  Recording recording;
  std::vector<ListedAxis> axes;
};

/// Counts of irregularities, for the remarks.
struct Oddities {
  std::size_t from_key = 0, from_times = 0, disagreeing = 0, without_value = 0;
  bool closed = true;
};

Result<std::vector<ListedAxis>> read_axes(const Fields& header) {
  FATUNE_TRY(const auto names, header.texts_or("tune_params_keys", {}));
  std::vector<ListedAxis> axes;
  FATUNE_TRY_STATUS(check_parameters(names.size(), header.where()));
  for (const std::string& name : names) axes.push_back({name});
  if (!header.has("tune_params")) return axes;
  FATUNE_TRY(const Fields declared, header.object("tune_params"));
  if (axes.empty()) {
    for (const auto& item : declared.json().items()) axes.push_back({item.key()});
  }
  for (ListedAxis& axis : axes) {
    if (!declared.has(axis.name)) continue;
    FATUNE_TRY(const Json* values, declared.value(axis.name));
    if (!values->is_array()) return declared.error(axis.name, "must be a list of values");
    for (const Json& value : *values) {
      axis.declared.push_back(value_from_json(value));
      axis.printed.emplace(python_text(axis.declared.back()), axis.declared.back());
    }
  }
  return axes;
}

/// Returns the problem size: 4096, [4096, 4096] or a text; files by fatune also have a problem.
Result<std::string> problem_text(const Fields& header) {
  if (header.has(kOurProblem)) {
    FATUNE_TRY(const Json* json, header.value(kOurProblem));
    FATUNE_TRY(const Problem problem, read_value<Problem>(*json, header.where()));
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
  Recording& recording = header.recording;
  recording.where = where;
  recording.format = "kernel-tuner";
  FATUNE_TRY(recording.name, fields.text_or("kernel_name", ""));
  FATUNE_TRY(recording.device, fields.text_or("device_name", ""));
  FATUNE_TRY(recording.remarks, fields.texts_or(kOurCautions, {}));
  FATUNE_TRY(const auto objectives, read_objectives(fields, "objective"));
  take_first(objectives, recording);
  const bool rate = recording.objective.find('/') != std::string::npos;
  if (rate) recording.unit = recording.objective;
  if (is_time(recording.objective)) recording.unit = "ms";
  FATUNE_TRY(recording.problem, problem_text(fields));
  FATUNE_TRY(header.axes, read_axes(fields));
  if (header.axes.empty())
    return file_error(where +
                      ": names no parameters: tune_params_keys and tune_params are missing");
  return header;
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
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto declared = header.axes[i].printed.find(parts[i]);
    const bool known = declared != header.axes[i].printed.end();
    values.push_back(known ? declared->second : value_from_python(parts[i]));
  }
  return values;
}

/// Returns the failure; empty for a measured entry.
std::string failure_of(const Json& entry, const Header& header) {
  const auto ours = entry.find(kOurFailure);
  if (ours != entry.end() && ours->is_string()) return ours->get<std::string>();
  for (const auto& [name, value] : entry.items()) {
    if (!value.is_string()) continue;
    if (std::ranges::find(header.axes, name, &ListedAxis::name) != header.axes.end()) continue;
    const std::string& text = value.get_ref<const std::string&>();
    for (const auto& [error, failure] : kErrors) {
      if (error == text) return std::string(failure);
    }
    if (name == "__error__") return "runtime";
  }
  return number_at(entry, "time").value_or(0) >= kNoTime ? "runtime" : "";
}

/// Returns the objective's value. `time` is used and not `times`, which may disagree.
std::optional<double> value_of(const Json& entry, const std::string& objective, Oddities& odd) {
  const auto value = number_at(entry, objective);
  const auto mean = objective == "time" ? mean_at(entry, "times") : std::nullopt;
  if (value) {
    if (mean && std::abs(*mean - *value) > kDisagreement * std::abs(*value)) ++odd.disagreeing;
    return value;
  }
  if (entry.contains(objective)) return std::nullopt;
  if (mean) ++odd.from_times;
  return mean;
}

std::optional<double> seconds_of(const Json& entry) {
  std::optional<double> sum;
  for (const char* name : kSpentOn) {
    if (const auto spent = number_at(entry, name))
      sum = sum.value_or(0) + *spent * seconds_per("ms");
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
  config.entry.cost = value_of(entry, header.recording.objective, odd);
  if (!config.entry.cost) ++odd.without_value;
  return config;
}

/// Reads entries up to the end of the cache or file. Kernel Tuner appends a line at a time and
/// closes the brackets last, so a file that ends after an entry is complete.
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

void add_remarks(const Oddities& odd, Recording& recording) {
  const auto remark = [&](std::size_t count, const std::string& text) {
    if (count > 0) recording.remarks.push_back(fmt::format("{} {}", count, text));
  };
  if (!odd.closed) recording.remarks.emplace_back("unclosed file: accepted");
  remark(odd.from_key, "configs have their parameters only in the key");
  remark(odd.from_times, "configs have no time: the mean of their times counts");
  remark(odd.disagreeing, "configs have times that disagree with their time: the time counts");
  remark(odd.without_value,
         "configs have no number as " + recording.objective + ": taken as failed");
}

std::string error_name(const std::string& failure) {
  if (failure == "compile") return "CompilationFailedConfig";
  return failure == "constraints" ? "InvalidConfig" : "RuntimeFailedConfig";
}

/// Returns the distinct values of each parameter: numbers ascending, words in order of appearance.
Json tune_params(const JournalGroup& group) {
  Json params = Json::object();
  for (const ToldRecord& config : group.configs) {
    for (const auto& [name, value] : config.record.config.items()) {
      Json& values = params[name];
      if (values.is_null()) values = Json::array();
      if (std::ranges::find(values, value) == values.end()) values.push_back(value);
    }
  }
  for (Json& values : params) {
    if (std::ranges::all_of(values, &Json::is_number)) std::sort(values.begin(), values.end());
  }
  return params;
}

Json sizes_of(const Problem& problem) {
  if (const Attention* p = problem.attention())
    return {p->batch, p->heads, p->kv_heads, p->seq_q, p->seq_kv, p->head_dim};
  Json sizes = Json::array();
  for (const NamedSize& size : named_sizes(problem)) sizes.push_back(size.value);
  return sizes;
}

Json header_of(const JournalGroup& group, const Journal& journal) {
  const Problem& problem = group.problem.problem;
  Json keys = Json::array();
  for (const auto& item : group.configs.front().record.config.items()) keys.push_back(item.key());
  return {{"device_name", journal.header.environment.device_name},
          {"kernel_name", group.kernel},
          {"problem_size", sizes_of(problem)},
          {kOurProblem, to_json(problem)},
          {kOurCautions, cautions(journal.header)},
          {"tune_params_keys", keys},
          {"tune_params", tune_params(group)},
          {"objective", "time"}};
}

/// Returns the values as Python prints them, in the order of the parameters.
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

Json entry_of(const ToldRecord& config) {
  Json entry = config.record.config;
  if (config.us) {
    entry["time"] = *config.us / kUsPerMs;
  } else {
    entry["time"] = error_name(config.failure);
    entry["__error__"] = error_name(config.failure);
    entry[kOurFailure] = config.failure;
  }
  entry["compile_time"] = config.record.spent.compile_s * kMsPerSecond;
  entry["verification_time"] = config.record.spent.verify_s * kMsPerSecond;
  entry["benchmark_time"] = config.record.spent.timing_s * kMsPerSecond;
  entry["strategy_time"] = 0;
  entry["framework_time"] = 0;
  return entry;
}

}  // namespace

Result<Recording> read_kernel_tuner(std::string_view text, const std::string& where) {
  JsonPieces pieces(text, where);
  FATUNE_TRY_STATUS(pieces.expect('{'));
  Json members = Json::object();
  std::optional<JsonPieces> cache;  // read once all members are known
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
  add_remarks(odd, header.recording);
  return assemble(std::move(header.recording), std::move(header.axes), std::move(configs));
}

Result<std::string> kernel_tuner_cache(const JournalGroup& group, const Journal& journal) {
  std::string text = dump(header_of(group, journal));
  text.pop_back();  // the closing bracket is appended last
  text += ", \"cache\": {";
  std::string separator = "\n";
  for (const ToldRecord& config : group.configs) {
    FATUNE_TRY(const std::string key, key_of(config.record.config));
    text += separator + dump(Json(key)) + ": " + dump(entry_of(config));
    separator = ",\n";
  }
  return text + "}\n}";  // Kernel Tuner removes these three characters to resume
}

}  // namespace fatune
