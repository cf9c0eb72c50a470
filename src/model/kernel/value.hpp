// value.hpp - one value of a parameter: a number, a word or a truth value, with its macro form.
#pragma once

#include <cstdint>
#include <string>

#include "core/json.hpp"
#include "core/result.hpp"

namespace fatune {

struct Value {
  enum class Kind { kNumber, kWord, kBoolean };
  Kind kind = Kind::kNumber;
  std::int64_t number = 0;  ///< a word: its position in the parameter's list; a boolean: 0 or 1
  std::string word;         ///< of a word only

  friend bool operator==(const Value&, const Value&) = default;
};

std::string describe(const Value& value);  ///< "128", "warp", "true"
Json to_json(const Value& value);

}  // namespace fatune
