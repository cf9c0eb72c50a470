// config.cpp - a config to text and JSON.
#include "model/kernel/config.hpp"

#include <nlohmann/json.hpp>

namespace fatune {

const Value* Config::find(std::string_view name) const {
  for (const Setting& setting : settings) {
    if (setting.name == name) return &setting.value;
  }
  return nullptr;
}

std::string describe(const Config& config) {
  std::string text;
  for (const Setting& setting : config.settings) {
    if (!text.empty()) text += ' ';
    text += setting.name + '=' + describe(setting.value);
  }
  return text;
}

Json to_json(const Config& config) {
  Json object = Json::object();
  for (const Setting& setting : config.settings) object[setting.name] = to_json(setting.value);
  return object;
}

}  // namespace fatune
