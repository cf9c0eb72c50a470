// t1.cpp - T1's parameters and conditions as a manifest without a kernel, enumerated as any other.
#include "search/datasets/t1.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "search/datasets/assemble.hpp"
#include "search/datasets/python_expression.hpp"

namespace fatune {
namespace {

bool is_whole(const Value& value) { return value.kind != Value::Kind::kWord; }

/// A list, or the text of a Python list.
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

/// Where the default is among the values; the first where the file names none of them.
std::size_t default_position(const Fields& fields, const std::vector<Value>& values) {
  const auto found = fields.json().find("Default");
  if (found == fields.json().end()) return 0;
  const Value wanted =
      value_from_json(found->is_array() && found->size() == 1 ? found->front() : *found);
  const auto at = std::find_if(values.begin(), values.end(), [&](const Value& value) {
    return describe(value) == describe(wanted);
  });
  return at == values.end() ? 0 : static_cast<std::size_t>(at - values.begin());
}

/// Each value once, as Python's lists need not have them.
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
  parameter.ordinal = std::all_of(values.begin(), values.end(), [](const Value& value) {
    return value.kind == Value::Kind::kNumber ||
           (value.kind == Value::Kind::kWord && parse_number(value.word).has_value());
  });
  parameter.default_position = default_position(fields, values);
  for (std::size_t i = 0; i < parameter.values.size(); ++i) {
    Value& value = parameter.values[i];
    if (value.kind == Value::Kind::kWord) value.number = static_cast<std::int64_t>(i);
  }
  return parameter;
}

/// Our expression for the condition; one over words or fractions does not map.
Result<Rule> read_condition(const Fields& condition, const Manifest& manifest) {
  FATUNE_TRY(const std::string text, condition.text("Expression"));
  Rule rule;
  rule.where = condition.where();
  rule.why = text;
  FATUNE_TRY(rule.require, expression_from_python(text, rule.where));
  FATUNE_TRY(const Expression expression, Expression::parse(rule.require, rule.where));
  for (const std::string& name : expression.variables()) {
    const Parameter* parameter = manifest.find(name);
    if (parameter == nullptr)
      return condition.error("Expression", "uses '" + name + "', which is no parameter: " + text);
    if (std::all_of(parameter->values.begin(), parameter->values.end(), is_whole)) continue;
    return condition.error("Expression", "uses " + name +
                                             ", whose values are not whole numbers, so it does "
                                             "not map: " +
                                             text);
  }
  return rule;
}

Result<Manifest> read_manifest(const Json& json, const std::string& where) {
  const Fields file(json, where);
  FATUNE_TRY(const Fields space, file.object("ConfigurationSpace"));
  Manifest manifest;
  manifest.where = where;
  manifest.name = "t1";
  if (file.has("KernelSpecification")) {
    FATUNE_TRY(const Fields kernel, file.object("KernelSpecification"));
    FATUNE_TRY(manifest.name, kernel.text_or("KernelName", "t1"));
  }
  manifest.dtypes = {Problem().dtype};
  manifest.masks = {Problem().mask};
  FATUNE_TRY(const auto parameters, space.objects_or_empty("TuningParameters"));
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

/// For each of the space's parameters where it is in the recording.
Result<std::vector<std::size_t>> match_axes(const Recording& recording, const Space& space) {
  std::vector<std::size_t> places;
  for (const Parameter& parameter : space.axes()) {
    const auto found =
        std::find_if(recording.axes.begin(), recording.axes.end(),
                     [&](const RecordedAxis& axis) { return axis.name == parameter.name; });
    if (found == recording.axes.end())
      return usage_error(recording.where + ": has no parameter " + parameter.name +
                         " of the space");
    places.push_back(static_cast<std::size_t>(found - recording.axes.begin()));
  }
  if (places.size() == recording.axes.size()) return places;
  return usage_error(fmt::format("{}: has {} parameters, the space has {}", recording.where,
                                 recording.axes.size(), places.size()));
}

/// Of each of the recording's values its position in the space's parameter; -1 for none.
std::vector<std::vector<int>> match_values(const Recording& recording, const Space& space,
                                           const std::vector<std::size_t>& places) {
  std::vector<std::vector<int>> positions;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::vector<Value>& ours = space.axes()[i].values;
    positions.emplace_back();
    for (const Value& theirs : recording.axes[places[i]].values) {
      const auto found = std::find_if(ours.begin(), ours.end(), [&](const Value& value) {
        return describe(value) == describe(theirs);
      });
      positions.back().push_back(found == ours.end() ? -1 : static_cast<int>(found - ours.begin()));
    }
  }
  return positions;
}

}  // namespace

Result<Space> read_t1_space(const std::filesystem::path& path) {
  FATUNE_TRY(const Json json, load_json(path));
  FATUNE_TRY(Manifest manifest, read_manifest(json, path.string()));
  auto kernel = std::make_shared<Kernel>();
  kernel->manifest = std::move(manifest);
  DeviceLimits limits;  // without launches and tensors nothing asks a device
  limits.arch = best_arch(9, 0);
  return Space::build(std::move(kernel), Problem(), limits);
}

Result<Recording> restrict_to(const Recording& recording, const Space& space) {
  FATUNE_TRY(const std::vector<std::size_t> places, match_axes(recording, space));
  const auto positions = match_values(recording, space, places);
  Recording kept = recording;
  kept.entries.clear();
  std::vector<std::uint64_t> codes;
  for (std::uint64_t i = 0; i < recording.lattice.size(); ++i) {
    const Point point = recording.lattice.point(i);
    Point ours;
    for (std::size_t axis = 0; axis < places.size(); ++axis) {
      const int position = positions[axis][point[places[axis]]];
      if (position < 0) break;
      ours.push_back(static_cast<std::uint16_t>(position));
    }
    if (ours.size() < places.size() || !space.contains(ours)) continue;
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

}  // namespace fatune
