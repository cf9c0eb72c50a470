// scalar.hpp: Defines a stage's arguments by value, stored as texts: "i32 1024", "f32 0.5".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "model/problem/plain_type.hpp"

namespace fatune {

/// A type and the text after it: an expression or a number.
struct ScalarText {
  const PlainFacts* type;
  std::string_view value;
};

/// Tells whether an argument is no name, hence passed by value.
bool is_scalar(std::string_view argument);
/// Splits "unsigned int ROWS / 2". Types have their names or spellings of C and <stdint.h>; for
/// another type the result is empty.
std::optional<ScalarText> split_scalar(std::string_view argument);
/// Returns the names of all types, for messages.
std::string scalar_types();
/// Returns the argument as stored: "f32 0.1". Fails with the text of value_fault().
Result<std::string> scalar_of(const PlainFacts& type, double value);

/// Returns the value's bits in the type, the lowest `type.bytes` bytes.
std::uint64_t bits_of(const PlainFacts& type, double value);

/// The value of a stored argument.
struct Scalar {
  const PlainFacts* type;
  std::uint64_t bits;   ///< the parameter is the lowest `type->bytes` bytes
  std::string literal;  ///< in C: "1024u"
};
/// Parses a stored argument; empty for other texts.
std::optional<Scalar> read_scalar(std::string_view argument);

}  // namespace fatune
