// manifest_parameters.cpp: Parses a manifest's parameters and their configs.

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "model/kernel/kernel.hpp"
#include "model/kernel/manifest_parse.hpp"
#include "model/kernel/vocabulary.hpp"

namespace fatune {
namespace {

constexpr std::int64_t kLargestNumber = std::int64_t{1} << 53;  // exact in expressions
constexpr std::size_t kMostValues = 4096;                       // chosen: a list, not a range

/// Converts a JSON scalar to a value; `position` is the number of a word. Empty for a type that is
/// not allowed.
std::optional<Value> value_from(const Json& json, std::size_t position) {
  Value value;
  if (json.is_boolean()) {
    value.kind = Value::Kind::kBoolean;
    value.number = json.get<bool>() ? 1 : 0;
  } else if (json.is_string()) {
    value.kind = Value::Kind::kWord;
    value.word = json.get<std::string>();
    value.number = static_cast<std::int64_t>(position);
    if (!matches(value.word, "[A-Za-z0-9_-]+")) return std::nullopt;
  } else if (json.is_number_integer()) {
    if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
    value.number = json.get<std::int64_t>();
    if (value.number > kLargestNumber || value.number < -kLargestNumber) return std::nullopt;
  } else {
    return std::nullopt;
  }
  return value;
}

std::string choices(const std::vector<Value>& values) {
  std::vector<std::string> parts;
  for (const Value& value : values) parts.push_back(describe(value));
  return join(parts, ", ");
}

Result<std::vector<Value>> parse_values(const Fields& fields, const Json& list) {
  if (!list.is_array() || list.empty() || list.size() > kMostValues) {
    return fields.error("values", fmt::format("must be a list of 1 to {} values", kMostValues));
  }
  std::vector<Value> values;
  for (const Json& item : list) {
    const std::string element = fmt::format("values[{}]", values.size());
    const auto value = value_from(item, values.size());
    if (!value) {
      return fields.error(element, fmt::format("is {}, which is neither a whole number, a word "
                                               "(letters, digits, _ and -) nor true or false",
                                               dump(item)));
    }
    if (!values.empty() && value->kind != values.front().kind) {
      return fields.error(element, fmt::format("is {}, which is not of the kind of {}", dump(item),
                                               describe(values.front())));
    }
    const auto same = [&](const Value& other) { return describe(other) == describe(*value); };
    if (std::ranges::any_of(values, same))
      return fields.error(element, fmt::format("repeats {}", describe(*value)));
    values.push_back(*value);
  }
  return values;
}

Result<std::size_t> parse_position(const Fields& fields, std::string_view key,
                                   const std::vector<Value>& values) {
  FATUNE_TRY(const Json* json, fields.value(key));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (to_json(values[i]) == *json) return i;
  }
  return fields.error(key, fmt::format("is {}, which is not one of {}",
                                       json->is_string() ? json->get<std::string>() : dump(*json),
                                       choices(values)));
}

Result<Parameter> parse_parameter(const Fields& fields, const Operation& operation) {
  FATUNE_TRY_STATUS(fields.only({"name", "values", "default", "meaning", "when", "otherwise"}));
  Parameter parameter;
  FATUNE_TRY(parameter.name, parse_macro_name(fields, operation));
  FATUNE_TRY(const Json* list, fields.value("values"));
  Json values = *list;
  FATUNE_TRY(parameter.faults, take_faults(fields, values));
  FATUNE_TRY(parameter.values, parse_values(fields, values));
  FATUNE_TRY(parameter.default_position, parse_position(fields, "default", parameter.values));
  FATUNE_TRY(parameter.meaning, parse_words(fields, "meaning"));
  parameter.ordinal = parameter.values.front().kind == Value::Kind::kNumber;
  FATUNE_TRY(parameter.when, parse_when(fields));
  parameter.otherwise_position = parameter.default_position;
  if (fields.has("otherwise")) {
    if (parameter.when.empty()) return fields.error("otherwise", "is for a parameter with 'when'");
    FATUNE_TRY(parameter.otherwise_position, parse_position(fields, "otherwise", parameter.values));
  }
  return parameter;
}

/// Parameters and word constants share the namespace of macros.
Status check_macros_differ(const Fields& fields, const Parameter& parameter,
                           std::vector<std::string>& taken) {
  const auto take = [&](std::string_view key, const std::string& macro) -> Status {
    if (std::ranges::count(taken, macro) > 0)
      return fields.error(key, fmt::format("defines {} a second time", macro));
    taken.push_back(macro);
    return {};
  };
  FATUNE_TRY_STATUS(take("name", parameter.name));
  for (const Value& value : parameter.values) {
    if (value.kind != Value::Kind::kWord) break;
    const std::string constant = word_constant(parameter.name, value.word);
    FATUNE_TRY_STATUS(take(fmt::format("values[{}]", value.number), constant));
  }
  return {};
}

}  // namespace

Result<std::vector<Parameter>> parse_parameters(const Fields& root, const Operation& operation) {
  FATUNE_TRY(const std::vector<Fields> list, root.objects_or_empty("parameters"));
  std::vector<Parameter> parameters;
  std::vector<std::string> macros;
  for (const Fields& fields : list) {
    FATUNE_TRY(parameters.emplace_back(), parse_parameter(fields, operation));
    FATUNE_TRY_STATUS(check_macros_differ(fields, parameters.back(), macros));
  }
  return parameters;
}

Result<Config> config_from_json(const Manifest& manifest, const Json& object,
                                const std::string& where) {
  if (!object.is_object()) {
    return file_error(fmt::format("{}: a config must be an object of parameters, but is {}", where,
                                  object.type_name()));
  }
  const Fields fields(object, where);
  const std::vector<std::string> names = names_of(manifest.parameters);
  for (const auto& item : object.items()) {
    if (manifest.find(item.key()) != nullptr) continue;
    return fields.error(item.key(),
                        fmt::format("is not a parameter of {}{}", manifest.name,
                                    nearest_hint(item.key(), names, "; did you mean '{}'?")));
  }
  Config config;
  for (const Parameter& parameter : manifest.parameters) {
    FATUNE_TRY(const std::size_t position,
               parse_position(fields, parameter.name, parameter.values));
    config.settings.push_back({parameter.name, parameter.values[position]});
  }
  return config;
}

}  // namespace fatune
