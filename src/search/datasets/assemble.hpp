// assemble.hpp - configs as a file lists them to the axes, lattice and entries of a recording.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "search/datasets/recording.hpp"

namespace fatune {

struct ListedConfig {
  std::vector<Value> values;  ///< one for each axis
  RecordedEntry entry;        ///< cost: the value as the file has it
  std::string place;          ///< for messages: "key '16,2'", "results[3]"
};

struct ListedAxis {
  std::string name;
  std::vector<Value> declared;  ///< what the axis may take; empty: what the configs take
};

/// A parameter's value. Whole numbers are numbers however they are written; a fraction is a word
/// that reads as a number, null, lists and objects are words.
Value value_from_json(const Json& json);
/// The value back; `ordinal` as in RecordedAxis.
Json json_of(const Value& value, bool ordinal);
/// The same of Python's text of it: "16", "0.5", "True", "warp".
Value value_from_python(std::string_view text);
std::string python_text(const Value& value);

/// Fills axes, lattice and entries, and turns objectives of which more is better. `recording` has
/// where, objective and unit. Of a config listed twice the later counts; a value outside those
/// declared is an error, and so is a file without any config.
Status assemble(std::vector<ListedAxis> axes, std::vector<ListedConfig> configs,
                Recording& recording);

}  // namespace fatune
