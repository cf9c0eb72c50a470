// config.hpp: Defines a config: one value for every parameter, independent of a space.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"

namespace fatune {

struct Value {
  enum class Kind { kNumber, kWord, kBoolean };
  Kind kind = Kind::kNumber;
  std::int64_t number = 0;  ///< a word: its index in the parameter's list; a boolean: 0 or 1
  std::string word;         ///< set for a word only

  friend bool operator==(const Value&, const Value&) = default;
};

std::string describe(const Value& value);  ///< "128", "warp", "true"
/// Lists the values for an error: "32, 64, 128".
std::string choices(const std::vector<Value>& values);
Json to_json(const Value& value);

struct Setting {
  std::string name;  ///< spelled as the macro
  Value value;
  friend bool operator==(const Setting&, const Setting&) = default;
};

struct Config {
  std::vector<Setting> settings;  ///< in the manifest's order
  friend bool operator==(const Config&, const Config&) = default;
  const Value* find(std::string_view name) const;
};

/// Schemas of the text that to_json(Config) writes and of candidate_id()'s result.
inline constexpr const char* kConfigSchema =
    R"({"type":"object","additionalProperties":
        {"anyOf":[{"type":"integer"},{"type":"boolean"},{"type":"string"}]}})";
inline constexpr const char* kIdPattern = "[0-9a-f]{16}";

std::string describe(const Config& config);       ///< "BLOCK_M=128 BLOCK_N=64 REDUCE=warp"
std::string describe_config(const Json& config);  ///< of a journalled config
Json to_json(const Config& config);               ///< {"BLOCK_M":128,"REDUCE":"warp"}

}  // namespace fatune
