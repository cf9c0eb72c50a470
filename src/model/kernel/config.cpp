// config.cpp: Converts values and configs to text and JSON.
#include "model/kernel/config.hpp"

#include <nlohmann/json.hpp>

#include "core/text.hpp"

namespace fatune {

std::string describe(const Value& value) {
  return value.kind == Value::Kind::kWord ? value.word : dump(to_json(value));
}

std::string choices(const std::vector<Value>& values) {
  std::vector<std::string> texts;
  for (const Value& value : values) texts.push_back(describe(value));
  return join(texts, ", ");
}

Json to_json(const Value& value) {
  if (value.kind == Value::Kind::kWord) return value.word;
  if (value.kind == Value::Kind::kBoolean) return value.number != 0;
  return value.number;
}

const Value* Config::find(std::string_view name) const {
  for (const Setting& setting : settings) {
    if (setting.name == name) return &setting.value;
  }
  return nullptr;
}

std::string describe_config(const Json& config) {
  std::string text;
  for (const auto& [name, value] : config.items()) {
    if (!text.empty()) text += ' ';
    text += name + '=' + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  return text;
}

std::string describe(const Config& config) { return describe_config(to_json(config)); }

Json to_json(const Config& config) {
  Json object = Json::object();
  for (const Setting& setting : config.settings) object[setting.name] = to_json(setting.value);
  return object;
}

}  // namespace fatune
