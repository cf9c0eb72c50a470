// spaces.cpp: Reads T1 spaces, and maps recorded configs to them or to a kernel's parameters.
#include "search/datasets/spaces.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "model/kernel/kernel.hpp"
#include "search/datasets/formats.hpp"

namespace fatune {
namespace {

bool is_word(const Value& value) { return value.kind == Value::Kind::kWord; }

/// Reads a JSON list or the text of a Python list.
Result<std::vector<Value>> read_values(const Fields& parameter) {
  FATUNE_TRY(const Json* json, parameter.value("Values"));
  if (json->is_string()) {
    return list_from_python(json->get_ref<const std::string&>(),
                            parameter.where() + " field 'Values'");
  }
  if (!json->is_array()) return parameter.error("Values", "must be a list or the text of one");
  std::vector<Value> values;
  for (const Json& value : *json) values.push_back(value_from_json(value));
  return values;
}

/// Returns the place of the default; 0 if the file names no value of the list.
std::size_t default_position(const Fields& fields, const std::vector<Value>& values) {
  const auto found = fields.json().find("Default");
  if (found == fields.json().end()) return 0;
  const Value wanted =
      value_from_json(found->is_array() && found->size() == 1 ? found->front() : *found);
  const auto at = std::ranges::find_if(
      values, [&](const Value& value) { return describe(value) == describe(wanted); });
  return at == values.end() ? 0 : static_cast<std::size_t>(at - values.begin());
}

/// Removes repeated values, which Python's lists may have.
void drop_repeats(std::vector<Value>& values) {
  std::set<std::pair<Value::Kind, std::string>> seen;
  std::erase_if(values, [&](const Value& value) {
    return !seen.emplace(value.kind, describe(value)).second;
  });
}

Result<Parameter> read_parameter(const Fields& fields) {
  Parameter parameter;
  FATUNE_TRY(parameter.name, fields.text("Name"));
  FATUNE_TRY(parameter.values, read_values(fields));
  if (parameter.values.empty()) return fields.error("Values", "is empty");
  drop_repeats(parameter.values);
  if (parameter.values.size() > std::numeric_limits<std::uint16_t>::max()) {
    return fields.error("Values", fmt::format("has {} values; at most 65535 can be searched",
                                              parameter.values.size()));
  }
  const auto& values = parameter.values;
  parameter.ordinal = std::ranges::all_of(values, is_numeric);
  parameter.default_position = default_position(fields, values);
  for (std::size_t i = 0; i < parameter.values.size(); ++i) {
    Value& value = parameter.values[i];
    if (is_word(value)) value.number = static_cast<std::int64_t>(i);
  }
  return parameter;
}

/// Converts a condition; one over words or fractions is an error.
Result<Rule> read_condition(const Fields& condition, const Manifest& manifest) {
  Rule rule;
  FATUNE_TRY(rule.require, condition.text("Expression"));
  rule.where = condition.where();
  rule.why = rule.require;
  rule.syntax = Syntax::kPython;
  FATUNE_TRY(const Expression expression, Expression::parse(rule.require, rule.where, rule.syntax));
  for (const std::string& name : expression.variables()) {
    const Parameter* parameter = manifest.find(name);
    if (parameter == nullptr) {
      return condition.error(
          "Expression", fmt::format("uses '{}', which is no parameter: {}", name, rule.require));
    }
    if (std::ranges::none_of(parameter->values, is_word)) continue;
    return condition.error(
        "Expression",
        fmt::format("uses {}, whose values are not whole numbers, so it does not map: {}", name,
                    rule.require));
  }
  return rule;
}

/// The recording's axis for a parameter of the space. Each recorded value has its position in the
/// parameter, or -1.
struct AxisMatch {
  std::size_t place = 0;
  std::vector<int> positions;
};

Result<std::vector<AxisMatch>> match_axes(const Recording& recording, const Space& space) {
  std::vector<AxisMatch> matches;
  for (const Parameter& parameter : space.axes()) {
    const auto found = std::ranges::find(recording.axes, parameter.name, &RecordedAxis::name);
    if (found == recording.axes.end())
      return usage_error(recording.where + ": has no parameter " + parameter.name +
                         " of the space");
    AxisMatch& match = matches.emplace_back();
    match.place = static_cast<std::size_t>(found - recording.axes.begin());
    std::map<std::string, int> ours;
    for (const Value& value : parameter.values)
      ours.emplace(describe(value), static_cast<int>(ours.size()));
    for (const Value& theirs : found->values) {
      const auto place = ours.find(describe(theirs));
      match.positions.push_back(place == ours.end() ? -1 : place->second);
    }
  }
  if (matches.size() == recording.axes.size()) return matches;
  return usage_error(fmt::format("{}: has {} parameters, the space has {}", recording.where,
                                 recording.axes.size(), matches.size()));
}

/// 1 equals true, because some files have no booleans.
bool same(const Value& theirs, const Value& ours) {
  const bool word = theirs.kind == Value::Kind::kWord || ours.kind == Value::Kind::kWord;
  return word ? describe(theirs) == describe(ours) : theirs.number == ours.number;
}

/// True if the kernel has a parameter of the axis's name.
bool knows(const Manifest& manifest, const RecordedAxis& axis) {
  return manifest.find(axis.name) != nullptr;
}

std::vector<std::size_t> best_first(const Recording& recording) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < recording.entries.size(); ++i) {
    if (recording.entries[i].cost) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return *recording.entries[i].cost; });
  return order;
}

/// Maps a config; empty, with parameter and value in `foreign`, if a value is not the kernel's.
std::optional<Json> map_config(const Recording& recording, std::size_t index,
                               const Manifest& manifest, std::string& foreign) {
  const Point point = recording.lattice.point(index);
  Json theirs = Json::object();
  for (std::size_t i = 0; i < point.size(); ++i) {
    const RecordedAxis& axis = recording.axes[i];
    if (axis.values.size() > 1 || knows(manifest, axis))
      theirs[axis.name] = to_json(axis.values[point[i]]);
  }
  Json config = to_json(default_config(manifest));
  for (const auto& [name, value] : theirs.items()) {
    const Value wanted = value_from_json(value);
    const Parameter* parameter = manifest.find(name);
    const std::vector<Value> known =
        parameter == nullptr ? std::vector<Value>() : parameter->values;
    const auto ours =
        std::ranges::find_if(known, [&](const Value& each) { return same(wanted, each); });
    if (ours == known.end()) {
      foreign = name + "=" + describe(wanted);
      return std::nullopt;
    }
    config[name] = to_json(*ours);
  }
  return config;
}

}  // namespace

Result<Manifest> read_t1_manifest(const Json& json, const std::string& where) {
  const Fields file(json, where);
  FATUNE_TRY(const Fields space, file.object("ConfigurationSpace"));
  Manifest manifest;
  manifest.where = where;
  manifest.name = "t1";
  if (file.has("KernelSpecification")) {
    FATUNE_TRY(const Fields kernel, file.object("KernelSpecification"));
    FATUNE_TRY(manifest.name, kernel.text_or("KernelName", "t1"));
  }
  manifest.dtypes = {Attention().dtype};
  manifest.masks = {kind_of(Attention().mask)};
  FATUNE_TRY(const auto parameters, space.objects_or_empty("TuningParameters"));
  FATUNE_TRY_STATUS(check_parameters(parameters.size(), where));
  for (const Fields& fields : parameters) {
    FATUNE_TRY(Parameter parameter, read_parameter(fields));
    if (manifest.find(parameter.name) != nullptr)
      return fields.error("Name", "is '" + parameter.name + "' a second time");
    manifest.parameters.push_back(std::move(parameter));
  }
  if (manifest.parameters.empty()) return space.error("TuningParameters", "is missing or empty");
  FATUNE_TRY(const auto conditions, space.objects_or_empty("Conditions"));
  for (const Fields& condition : conditions) {
    FATUNE_TRY(Rule rule, read_condition(condition, manifest));
    manifest.constraints.push_back(std::move(rule));
  }
  return manifest;
}

Result<Space> read_t1_space(const std::filesystem::path& path) {
  FATUNE_TRY(const Json json, load_json(path));
  FATUNE_TRY(Manifest manifest, read_t1_manifest(json, path.string()));
  auto kernel = std::make_shared<Kernel>();
  kernel->manifest = std::move(manifest);
  DeviceLimits limits;  // unused: the manifest has no launches and tensors
  limits.arch = best_arch(9, 0);
  return Space::build(std::move(kernel), Problem(), limits);
}

Result<Recording> restrict_to(const Recording& recording, const Space& space) {
  FATUNE_TRY(const std::vector<AxisMatch> matches, match_axes(recording, space));
  Recording kept = recording;
  kept.entries.clear();
  std::vector<std::uint64_t> codes;
  for (std::uint64_t i = 0; i < recording.lattice.size(); ++i) {
    const Point point = recording.lattice.point(i);
    Point ours;
    for (const AxisMatch& match : matches) {
      const int position = match.positions[point[match.place]];
      if (position < 0) break;
      ours.push_back(static_cast<std::uint16_t>(position));
    }
    if (ours.size() < matches.size() || !space.contains(ours)) continue;
    codes.push_back(recording.lattice.encode(point));
    kept.entries.push_back(recording.entries[i]);
  }
  if (codes.empty()) {
    return usage_error(recording.where + ": none of its configs is valid in the space of " +
                       space.kernel().manifest.where);
  }
  kept.remarks.push_back(fmt::format("restricted: {} of {} configs are in the space, which has {}",
                                     codes.size(), recording.lattice.size(), space.size()));
  kept.lattice = Lattice(recording.lattice.axes(), std::move(codes));
  return kept;
}

ImportedConfigs import_configs(const Recording& recording, const Manifest& manifest,
                               std::size_t most) {
  ImportedConfigs imported;
  std::vector<std::string> unknown;
  for (const RecordedAxis& axis : recording.axes) {
    if (axis.values.size() > 1 && !knows(manifest, axis)) unknown.push_back(axis.name);
  }
  if (!unknown.empty()) {
    imported.note = "none: it has no parameter " + join(unknown, ", ");
    return imported;
  }
  if (std::ranges::none_of(recording.axes,
                           [&](const RecordedAxis& axis) { return knows(manifest, axis); })) {
    imported.note = "none: they share no parameter";
    return imported;
  }
  std::size_t skipped = 0;
  std::string example;
  for (const std::size_t index : best_first(recording)) {
    if (imported.configs.size() == most) break;
    std::string foreign;
    const auto config = map_config(recording, index, manifest, foreign);
    if (!config) {
      if (skipped++ == 0) example = foreign;
      continue;
    }
    auto& known = imported.configs;
    if (std::ranges::find(known, *config) == known.end()) known.push_back(*config);
  }
  imported.note =
      fmt::format("{} of {} configs", imported.configs.size(), recording.entries.size());
  if (skipped > 0) {
    imported.note +=
        fmt::format("; {} better ones have values that it has not, as {}", skipped, example);
  }
  return imported;
}

}  // namespace fatune
