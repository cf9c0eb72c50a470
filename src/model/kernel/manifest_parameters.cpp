// manifest_parameters.cpp: Checks the parameters of a manifest and reads configs.
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "model/kernel/manifest_check.hpp"
#include "model/kernel/vocabulary.hpp"

namespace fatune {
namespace {

/// Takes a macro's name: parameters and word constants share the names.
Status take_macro(const Checks& check, const std::string& path, const std::string& macro,
                  std::set<std::string>& taken) {
  if (taken.insert(macro).second) return {};
  return check.error(path, fmt::format("defines {} a second time", macro));
}

/// Finds the number or truth value that a text spells, as other programs write them: "64", "True".
std::optional<std::size_t> position_of_text(const std::string& text, const Parameter& parameter) {
  for (std::size_t i = 0; i < parameter.values.size(); ++i) {
    const bool truth = parameter.values[i].kind == Value::Kind::kBoolean;
    if (describe(parameter.values[i]) == (truth ? lower(text) : text)) return i;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> position_of(const Json& value, const Parameter& parameter) {
  for (std::size_t i = 0; i < parameter.values.size(); ++i) {
    if (to_json(parameter.values[i]) == value) return i;
  }
  return std::nullopt;
}

std::string not_a_value(const Json& value, const Parameter& parameter) {
  const bool words = parameter.values.front().kind == Value::Kind::kWord;
  return fmt::format("is {}, which is not one of {}",
                     words && value.is_string() ? value.get<std::string>() : dump(value),
                     choices(parameter.values));
}

Status check_parameters(const Manifest& manifest) {
  const Checks check{manifest.where};
  std::set<std::string> macros;
  for (std::size_t i = 0; i < manifest.parameters.size(); ++i) {
    const Parameter& parameter = manifest.parameters[i];
    const std::string path = fmt::format("parameters[{}].", i);
    const std::string fault = macro_fault(parameter.name, *manifest.operation);
    if (!fault.empty()) return check.error(path + "name", fault);
    FATUNE_TRY_STATUS(take_macro(check, path + "name", parameter.name, macros));
    for (const Value& value : parameter.values) {
      if (value.kind != Value::Kind::kWord) break;
      FATUNE_TRY_STATUS(take_macro(check, fmt::format("{}values[{}]", path, value.number),
                                   word_constant(parameter.name, value.word), macros));
    }
  }
  return {};
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
    FATUNE_TRY(const Json* value, fields.value(parameter.name));
    auto position = position_of(*value, parameter);
    if (!position && value->is_string())
      position = position_of_text(value->get_ref<const std::string&>(), parameter);
    if (!position) return fields.error(parameter.name, not_a_value(*value, parameter));
    config.settings.push_back({parameter.name, parameter.values[*position]});
  }
  return config;
}

}  // namespace fatune
