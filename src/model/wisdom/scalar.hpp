// scalar.hpp: Defines values among a stage's arguments, which texts hold: "i32 1024", "f32 0.5".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "model/problem/plain_type.hpp"

namespace fatune {

/// A type and what follows it.
struct ScalarText {
  const PlainFacts* type;
  std::string_view value;
};

/// Tells whether an argument is a typed value; others are names.
bool is_scalar(std::string_view argument);
/// Splits "unsigned int ROWS / 2"; the type has its name, a spelling of C, or one of <stdint.h>.
/// Empty for another type.
std::optional<ScalarText> split_scalar(std::string_view argument);
/// The names of types, for messages.
std::string scalar_types();
/// Returns the argument as stored: "f32 0.1". Fails with "is 0.5, which i32 cannot hold (...)".
Result<std::string> scalar_of(const PlainFacts& type, double value);

/// The value of a stored argument.
struct Scalar {
  const PlainFacts* type;
  std::uint64_t bits;   ///< the lowest `type->bytes` are the parameter's
  std::string literal;  ///< in C: "1024u"
};
/// Empty unless scalar_of() made the text.
std::optional<Scalar> read_scalar(std::string_view argument);

}  // namespace fatune
