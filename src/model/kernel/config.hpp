// config.hpp - one choice for every parameter of a kernel, free of the space it came from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "model/kernel/value.hpp"

namespace fatune {

struct Setting {
  std::string name;  ///< the macro's spelling
  Value value;
  friend bool operator==(const Setting&, const Setting&) = default;
};

struct Config {
  std::vector<Setting> settings;  ///< in the manifest's order
  friend bool operator==(const Config&, const Config&) = default;
  const Value* find(std::string_view name) const;
};

/// For schemas: what to_json(Config) writes, and what candidate_id() gives.
inline constexpr const char* kConfigSchema =
    R"({"type":"object","additionalProperties":{"type":["integer","boolean","string"]}})";
inline constexpr const char* kIdPattern = "[0-9a-f]{16}";

std::string describe(const Config& config);  ///< "BLOCK_M=128 BLOCK_N=64 REDUCE=warp"
Json to_json(const Config& config);          ///< {"BLOCK_M":128,"REDUCE":"warp"}

}  // namespace fatune
