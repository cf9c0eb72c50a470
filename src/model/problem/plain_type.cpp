// plain_type.cpp: Lists plain C types with their ranges and spellings.
#include "model/problem/plain_type.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "core/fields.hpp"

namespace fatune {
namespace {

constexpr double kExact = 9007199254740992;  // 2^53
constexpr PlainFacts kPlainTypes[] = {
    {"f32", 4, -FLT_MAX, FLT_MAX, false, "float", "f"},
    {"f64", 8, -DBL_MAX, DBL_MAX, false, "double", ""},
    {"i8", 1, -128, 127, true, "int8_t", ""},
    {"u8", 1, 0, 255, true, "uint8_t", ""},
    {"i16", 2, -32768, 32767, true, "int16_t", ""},
    {"u16", 2, 0, 65535, true, "uint16_t", ""},
    {"i32", 4, -2147483648.0, 2147483647.0, true, "int32_t", ""},
    {"u32", 4, 0, 4294967295.0, true, "uint32_t", "u"},
    {"i64", 8, -kExact, kExact, true, "int64_t", "LL"},
    {"u64", 8, 0, kExact, true, "uint64_t", "ULL"},
    {"bool", 1, 0, 1, true, "unsigned char", ""},
};

Result<PlainType> parse_plain_type(std::string_view text) {
  if (const auto type = plain_type_named(text)) return *type;
  return usage_error(fmt::format("the type '{}' is unknown", text));
}

}  // namespace

std::span<const PlainFacts> plain_types() { return kPlainTypes; }

const PlainFacts& plain_facts(PlainType type) {
  return plain_types()[static_cast<std::size_t>(type)];
}

std::string_view name(PlainType type) { return plain_facts(type).name; }

std::optional<PlainType> plain_type_named(std::string_view name) {
  const auto* const found = std::ranges::find(kPlainTypes, name, &PlainFacts::name);
  if (found == std::end(kPlainTypes)) return std::nullopt;
  return static_cast<PlainType>(found - std::begin(kPlainTypes));
}

FieldWord<PlainType> word_of(const PlainType*) { return {.parse = parse_plain_type}; }

std::string value_fault(const PlainFacts& type, double value) {
  if (type.whole && value != std::floor(value))
    return fmt::format("is {}, which is not a whole number, as {} needs", value, type.name);
  if (value >= type.least && value <= type.most) return {};
  const auto bound = [&](double limit) {
    return type.whole ? fmt::format("{}", static_cast<std::int64_t>(limit))
                      : fmt::format("{:.6g}", limit);
  };
  return fmt::format("is {}, but {} holds {} to {}", value, type.name, bound(type.least),
                     bound(type.most));
}

}  // namespace fatune
