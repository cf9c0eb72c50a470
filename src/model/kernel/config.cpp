// config.cpp - values and configs to text and JSON.
#include "model/kernel/config.hpp"

#include <nlohmann/json.hpp>

namespace fatune {

std::string describe(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kWord:
      return value.word;
    case Value::Kind::kBoolean:
      return value.number != 0 ? "true" : "false";
    case Value::Kind::kNumber:
      break;
  }
  return std::to_string(value.number);
}

Json to_json(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kWord:
      return value.word;
    case Value::Kind::kBoolean:
      return value.number != 0;
    case Value::Kind::kNumber:
      break;
  }
  return value.number;
}

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
