// yaml.hpp - text of a YAML document to a JSON value, which Fields then reads.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/json.hpp"

namespace fatune {

inline constexpr std::size_t kLargestYaml = std::size_t{256} << 10U;  ///< bytes

/// Plain scalars are null, true, false, whole numbers, finite numbers or text; quoted ones and
/// blocks are text. Refused, as file errors with `where`, line and column: aliases, by which a
/// small text is a large value, and tags; keys that are no scalars or stand twice; more than one
/// document; text of more than kLargestYaml, deeper than 16 levels, of more than 20,000 values, or
/// with more than 256 keys in a mapping.
Result<Json> parse_yaml(std::string_view text, const std::string& where);

}  // namespace fatune
