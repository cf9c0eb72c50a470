// aliases.cpp - reads what manifests say of their past, and renames configs by it.
#include "model/kernel/aliases.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text.hpp"

namespace fatune {
namespace {

const FormerParameter* find_former(const Manifest& manifest, const std::string& name) {
  for (const FormerParameter& former : manifest.former_parameters) {
    if (former.name == name) return &former;
  }
  return nullptr;
}

/// The parameter that has this name or had it.
const Parameter* find_any(const Manifest& manifest, const std::string& name) {
  if (const Parameter* parameter = manifest.find(name)) return parameter;
  for (const Parameter& parameter : manifest.parameters) {
    const auto& aliases = parameter.aliases;
    if (std::find(aliases.begin(), aliases.end(), name) != aliases.end()) return &parameter;
  }
  return nullptr;
}

Json current_value(const Parameter& parameter, const Json& value) {
  for (const auto& [former, word] : parameter.value_aliases) {
    if (value == former) return word;
  }
  return value;
}

bool came_from(const Manifest& manifest, const std::string& kernel, const Json& config) {
  if (manifest.split_from.kernel != kernel) return false;
  const auto& settings = manifest.split_from.settings;
  return std::all_of(settings.begin(), settings.end(), [&](const auto& setting) {
    const auto found = config.find(setting.first);
    return found != config.end() && dump(*found) == setting.second;
  });
}

}  // namespace

Status parse_aliases(const Fields& fields, Parameter& parameter) {
  FATUNE_TRY(parameter.aliases, fields.texts_or("aliases", {}));
  if (!fields.has("value_aliases")) return {};
  FATUNE_TRY(const Fields list, fields.object("value_aliases"));
  for (const auto& item : list.json().items()) {
    FATUNE_TRY(const std::string word, list.text(item.key()));
    const auto has = [&](const std::string& text) {
      return std::any_of(parameter.values.begin(), parameter.values.end(),
                         [&](const Value& value) { return value.word == text; });
    };
    if (!has(word)) return list.error(item.key(), fmt::format("is '{}', which is no value", word));
    if (has(item.key())) return list.error(item.key(), "is a value that the parameter still has");
    parameter.value_aliases.emplace_back(item.key(), word);
  }
  return {};
}

Status parse_former(const Fields& root, Manifest& manifest) {
  if (root.has("former_parameters")) {
    FATUNE_TRY(const Fields list, root.object("former_parameters"));
    for (const auto& [name, values] : list.json().items()) {
      if (find_any(manifest, name) != nullptr)
        return list.error(name, "is a parameter that the kernel still has");
      if (!values.is_array() || values.empty())
        return list.error(name, "must be a list of at least one value");
      FormerParameter former{name, {}};
      for (const Json& value : values) former.values.push_back(dump(value));
      manifest.former_parameters.push_back(std::move(former));
    }
  }
  if (!root.has("split_from")) return {};
  FATUNE_TRY(const Fields split, root.object("split_from"));
  FATUNE_TRY_STATUS(split.only({"kernel", "config"}));
  FATUNE_TRY(manifest.split_from.kernel, split.text("kernel"));
  FATUNE_TRY(const Fields config, split.object("config"));
  for (const auto& [name, value] : config.json().items()) {
    manifest.split_from.settings.emplace_back(name, dump(value));
  }
  if (manifest.split_from.settings.empty())
    return split.error("config", "must name at least one setting");
  return {};
}

Json with_current_names(const Manifest& manifest, const Json& config) {
  Json renamed = Json::object();
  for (const auto& [name, value] : config.items()) {
    if (const Parameter* parameter = find_any(manifest, name)) {
      // Both names: the former one stays, to be refused.
      const bool twice = parameter->name != name && config.contains(parameter->name);
      renamed[twice ? name : parameter->name] = current_value(*parameter, value);
      continue;
    }
    const FormerParameter* former = find_former(manifest, name);
    const bool gone = former != nullptr && std::find(former->values.begin(), former->values.end(),
                                                     dump(value)) != former->values.end();
    if (!gone) renamed[name] = value;
  }
  Json ordered = Json::object();
  for (const Parameter& parameter : manifest.parameters) {
    if (const auto found = renamed.find(parameter.name); found != renamed.end())
      ordered[parameter.name] = *found;
  }
  for (const auto& [name, value] : renamed.items()) ordered[name] = value;
  return ordered;
}

void update_names(std::span<const KernelRef> kernels, std::string& kernel, Json& config) {
  for (const KernelRef& each : kernels) {
    if (!came_from(each->manifest, kernel, config)) continue;
    kernel = each->manifest.name;
    break;
  }
  for (const KernelRef& each : kernels) {
    if (each->manifest.name == kernel) config = with_current_names(each->manifest, config);
  }
}

}  // namespace fatune
