// plain_type.hpp: Defines plain C types of tensor elements and of arguments by value.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"

namespace fatune {

/// Types that Dtype lacks.
enum class PlainType { kF32, kF64, kI8, kU8, kI16, kU16, kI32, kU32, kI64, kU64, kBool };

struct PlainFacts {
  std::string_view name;  ///< "i32"
  std::size_t bytes;
  double least, most;                 ///< i64 and u64: up to 2^53, which doubles hold exactly
  bool whole;                         ///< integers and bool
  std::string_view c_type, c_suffix;  ///< declares, and ends a literal, in C99
};
/// In the order of PlainType.
std::span<const PlainFacts> plain_types();
const PlainFacts& plain_facts(PlainType type);
std::string_view name(PlainType type);
std::optional<PlainType> plain_type_named(std::string_view name);
FieldWord<PlainType> word_of(const PlainType*);

/// Returns why the type cannot hold the value: "is 0.5, which is not a whole number, as i32 needs",
/// "is 300, but u8 holds 0 to 255". Empty if it can.
std::string value_fault(const PlainFacts& type, double value);

}  // namespace fatune
