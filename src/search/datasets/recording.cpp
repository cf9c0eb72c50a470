// recording.cpp: Recognises result files, and converts listed configs to a lattice and costs.
#include "search/datasets/recording.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <system_error>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "core/gzip.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "search/datasets/formats.hpp"

namespace fatune {
namespace {

constexpr double kLargestExact = 9007199254740992.0;  // 2^53: above, not every integer is a double

Value number_value(std::int64_t number) { return {Value::Kind::kNumber, number, {}}; }
Value word_value(std::string word) { return {Value::Kind::kWord, 0, std::move(word)}; }
Value boolean_value(bool value) { return {Value::Kind::kBoolean, value ? 1 : 0, {}}; }

/// Returns a key that differs for different values.
std::string identity(const Value& value) {
  return (value.kind == Value::Kind::kWord ? "w" : "n") + describe(value);
}

/// In an axis with booleans and numbers, True becomes 1, as in Python.
void unify_booleans(std::size_t axis, std::vector<Value>& declared,
                    std::vector<ListedConfig>& configs) {
  std::vector<Value*> values;
  for (Value& value : declared) values.push_back(&value);
  for (ListedConfig& config : configs) values.push_back(&config.values[axis]);
  const auto has = [&](Value::Kind kind) {
    return std::ranges::any_of(values, [&](const Value* value) { return value->kind == kind; });
  };
  if (!has(Value::Kind::kBoolean) || !has(Value::Kind::kNumber)) return;
  for (Value* value : values) {
    if (value->kind == Value::Kind::kBoolean) *value = number_value(value->number);
  }
}

/// Returns the distinct values of an axis in the order of RecordedAxis.
Result<RecordedAxis> make_axis(const ListedAxis& listed, std::size_t position,
                               const std::vector<ListedConfig>& configs, const std::string& where) {
  RecordedAxis axis;
  axis.name = listed.name;
  std::unordered_map<std::string, bool> seen;
  const auto add = [&](const Value& value) {
    if (seen.emplace(identity(value), true).second) axis.values.push_back(value);
  };
  for (const Value& value : listed.declared) add(value);
  if (listed.declared.empty()) {
    for (const ListedConfig& config : configs) add(config.values[position]);
  }
  if (axis.values.size() > std::numeric_limits<std::uint16_t>::max()) {
    return file_error(fmt::format("{}: parameter {} has {} values; at most 65535 can be searched",
                                  where, listed.name, axis.values.size()));
  }
  axis.ordinal = std::ranges::all_of(axis.values, is_numeric);
  const auto is_boolean = [](const Value& value) { return value.kind == Value::Kind::kBoolean; };
  if (axis.ordinal) {
    std::ranges::stable_sort(axis.values, {}, numeric);
  } else if (std::ranges::all_of(axis.values, is_boolean)) {
    std::ranges::sort(axis.values, {}, &Value::number);
  }
  return axis;
}

/// Returns the mixed-radix code of each config, in the order of the list.
Result<std::vector<std::uint64_t>> encode(const std::vector<RecordedAxis>& axes,
                                          const std::vector<ListedConfig>& configs,
                                          const std::string& where) {
  std::vector<std::uint64_t> codes(configs.size(), 0);
  std::uint64_t product = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const RecordedAxis& axis = axes[i];
    if (product > std::numeric_limits<std::uint64_t>::max() / axis.values.size())
      return file_error(where + ": its parameters span more than 2^64 configs");
    product *= axis.values.size();
    std::unordered_map<std::string, std::uint64_t> positions;
    for (const Value& value : axis.values) positions.emplace(identity(value), positions.size());
    for (std::size_t row = 0; row < configs.size(); ++row) {
      const Value& value = configs[row].values[i];
      auto found = positions.find(identity(value));
      const std::string text = python_text(value);  // 64 may be written "64", here or there
      for (const Value& alike : {value_from_python(text), word_value(text)})
        if (found == positions.end()) found = positions.find(identity(alike));
      if (found == positions.end()) {
        return file_error(fmt::format("{}: {}: {}={} is not one of the declared values {}", where,
                                      configs[row].place, axis.name, describe(value),
                                      choices(axis.values)));
      }
      codes[row] = codes[row] * axis.values.size() + found->second;
    }
  }
  return codes;
}

void fill_lattice(std::vector<std::uint64_t> codes, std::vector<ListedConfig>& configs,
                  Recording& recording) {
  std::vector<std::size_t> order(codes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t row) { return codes[row]; });
  std::vector<std::uint64_t> distinct;
  std::size_t repeated = 0;
  for (const std::size_t row : order) {
    RecordedEntry& entry = configs[row].entry;
    if (!entry.cost && entry.failure.empty()) entry.failure = "unusable";
    if (!distinct.empty() && distinct.back() == codes[row]) {
      ++repeated;
      recording.entries.back() = std::move(entry);
      continue;
    }
    distinct.push_back(codes[row]);
    recording.entries.push_back(std::move(entry));
  }
  if (repeated > 0) {
    recording.remarks.push_back(
        fmt::format("{} configs repeated: the last of each counts", repeated));
  }
  std::vector<Axis> axes;
  for (const RecordedAxis& axis : recording.axes)
    axes.push_back({axis.name, axis.values.size(), axis.ordinal});
  recording.lattice = Lattice(std::move(axes), std::move(distinct));
}

struct Unit {
  std::string_view name, short_name;
  double seconds;
};
/// "miliseconds" is the spelling of files of the benchmark hub.
constexpr Unit kUnits[] = {{"nanoseconds", "ns", 1e-9},
                           {"microseconds", "us", 1e-6},
                           {"milliseconds", "ms", 1e-3},
                           {"miliseconds", "ms", 1e-3},
                           {"seconds", "s", 1}};

/// Finds a unit by its long or short name; null if it is no unit of time.
const Unit* find_unit(std::string_view unit) {
  const auto* found = std::ranges::find_if(kUnits, [&](const Unit& each) {
    return each.name == lower(unit) || each.short_name == unit;
  });
  return found == std::end(kUnits) ? nullptr : found;
}

namespace fs = std::filesystem;

struct Reader {
  Result<std::vector<Recording>> (*read)(std::string_view text, const std::string& where);
  bool lines = false;  ///< of a document each
};

/// Adapts the reader of a format that has one recording in a file.
template <Result<Recording> (*read)(std::string_view, const std::string&)>
Result<std::vector<Recording>> one(std::string_view text, const std::string& where) {
  std::vector<Recording> recordings(1);
  FATUNE_TRY(recordings[0], read(text, where));
  return recordings;
}

Error unknown(const std::string& where, const std::string& what) {
  return file_error(where + ": is " + what +
                    "; what can be read are Kernel Tuner caches, T4 results, KTT results and "
                    "fatune journals");
}

/// Chooses the reader by the names of the first members.
Result<Reader> recognise(std::string_view text, const std::string& where) {
  JsonPieces pieces(text, where);
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return file_error(where + ": is empty");
  if (!pieces.skip('{')) return unknown(where, "no JSON object");
  for (bool more = !pieces.skip('}'); more;) {
    FATUNE_TRY(const std::string name, pieces.name());
    if (name == "cache" || name == "tune_params_keys") return Reader{one<read_kernel_tuner>};
    if (name == "results") return Reader{one<read_t4>};
    if (name == "Results") return Reader{read_ktt};
    if (name == "ConfigurationSpace") return unknown(where, "a T1 space, which has no results");
    FATUNE_TRY(const std::string_view value, pieces.value());
    if (name == "schema") {
      if (value.starts_with("\"fatune.journal/")) return Reader{read_journal, true};
      return unknown(where, "of schema " + std::string(value));
    }
    FATUNE_TRY(more, pieces.another('}'));
  }
  return unknown(where, "JSON of another kind");
}

/// Fails if the file goes on behind its first document. The readers judge a document that is cut.
Status refuse_second(std::string_view text, const std::string& where) {
  JsonPieces pieces(text, where);
  if (!pieces.value() || pieces.at_end()) return {};
  return pieces.error("text follows the end of the results; a file holds one document");
}

}  // namespace

Status check_parameters(std::size_t count, const std::string& where) {
  constexpr std::size_t kMost = 256;
  if (count <= kMost) return {};
  return file_error(fmt::format("{}: has {} parameters; at most {} are read", where, count, kMost));
}

Value value_from_json(const Json& json) {
  if (json.is_boolean()) return boolean_value(json.get<bool>());
  if (json.is_string()) return word_value(json.get<std::string>());
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX)
    return word_value(dump(json));
  if (json.is_number_integer()) return number_value(json.get<std::int64_t>());
  if (json.is_number_float()) {
    const double number = json.get<double>();
    if (number == std::floor(number) && std::abs(number) < kLargestExact)
      return number_value(static_cast<std::int64_t>(number));
  }
  return word_value(dump(json));
}

Value value_from_python(std::string_view text) {
  if (text == "True" || text == "False") return boolean_value(text == "True");
  if (const auto integer = parse_integer(text)) return number_value(*integer);
  const auto number = parse_number(text);
  return number ? value_from_json(Json(*number)) : word_value(std::string(text));
}

std::string python_text(const Value& value) {
  if (value.kind == Value::Kind::kBoolean) return value.number != 0 ? "True" : "False";
  return describe(value);
}

std::optional<double> numeric(const Value& value) {
  if (value.kind == Value::Kind::kNumber) return static_cast<double>(value.number);
  return value.kind == Value::Kind::kWord ? parse_number(value.word) : std::nullopt;
}

std::optional<double> number_at(const Json& object, const std::string& name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::optional<double> mean_at(const Json& object, const std::string& name) {
  const auto list = object.find(name);
  if (list == object.end() || !list->is_array() || list->empty()) return std::nullopt;
  double sum = 0;
  for (const Json& item : *list) {
    const Json& value = item.is_array() && !item.empty() ? item.back() : item;
    if (!value.is_number()) return std::nullopt;
    sum += value.get<double>();
  }
  return sum / static_cast<double>(list->size());
}

Result<Recording> assemble(Recording recording, std::vector<ListedAxis> axes,
                           std::vector<ListedConfig> configs) {
  if (configs.empty()) return file_error(recording.where + ": holds no config");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    unify_booleans(i, axes[i].declared, configs);
    FATUNE_TRY(RecordedAxis axis, make_axis(axes[i], i, configs, recording.where));
    recording.axes.push_back(std::move(axis));
  }
  FATUNE_TRY(auto codes, encode(recording.axes, configs, recording.where));
  fill_lattice(std::move(codes), configs, recording);
  FATUNE_TRY_STATUS(settle_costs(recording));
  return recording;
}

std::string_view short_unit(std::string_view unit) {
  const Unit* known = find_unit(unit);
  return known == nullptr ? unit : known->short_name;
}

double seconds_per(std::string_view unit) {
  const Unit* known = find_unit(unit);
  return known == nullptr ? 0 : known->seconds;
}

Result<std::vector<Recording>> read_recordings(const fs::path& path) {
  FATUNE_TRY(const fs::path file, find_results(path));
  const std::string where = file.string();
  FATUNE_TRY(std::string text, read_file(file, kJournalFile));
  if (text.starts_with("\x1f\x8b")) {  // gzip without the .gz suffix
    FATUNE_TRY(text, gunzip(text, where, kJournalFile));
  }
  drop_byte_order_mark(text);
  FATUNE_TRY(const Reader reader, recognise(text, where));
  if (!reader.lines) {  // one document of the whole text
    FATUNE_TRY_STATUS(check_size(text, kLargeFile, where));
    FATUNE_TRY_STATUS(check_values(text, where));
    FATUNE_TRY_STATUS(refuse_second(text, where));
  }
  return reader.read(text, where);
}

}  // namespace fatune
