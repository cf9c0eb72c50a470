// scalar.cpp: Parses arguments by value, and writes each in one spelling.
#include "model/wisdom/scalar.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"

namespace fatune {
namespace {

/// C's spellings. One that begins with another stands before it.
constexpr std::pair<std::string_view, std::string_view> kSpellings[] = {
    {"unsigned long long", "u64"},
    {"unsigned long", "u64"},
    {"unsigned int", "u32"},
    {"unsigned char", "u8"},
    {"unsigned short", "u16"},
    {"unsigned", "u32"},
    {"long long", "i64"},
    {"long", "i64"},
    {"signed char", "i8"},
    {"short", "i16"},
    {"int", "i32"},
    {"float", "f32"},
    {"double", "f64"},
    {"size_t", "u64"},
    {"int8_t", "i8"},
    {"uint8_t", "u8"},
    {"int16_t", "i16"},
    {"uint16_t", "u16"},
    {"int32_t", "i32"},
    {"uint32_t", "u32"},
    {"int64_t", "i64"},
    {"uint64_t", "u64"},
};

/// Returns what follows the word; empty if the text does not begin with it.
std::string_view after(std::string_view text, std::string_view word) {
  if (!text.starts_with(word)) return {};
  const std::string_view rest = text.substr(word.size());
  return rest.empty() || in_class(rest.front(), "A-Za-z0-9_") ? std::string_view() : trim(rest);
}

std::string number_text(const PlainFacts& type, double value) {
  if (type.whole) return fmt::format("{}", static_cast<std::int64_t>(value));
  std::string text =
      type.bytes == 4 ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

bool is_scalar(std::string_view argument) {
  return std::ranges::any_of(argument, [](char c) { return !in_class(c, "A-Za-z0-9_"); });
}

std::optional<ScalarText> split_scalar(std::string_view argument) {
  for (const PlainFacts& type : plain_types()) {
    if (const auto value = after(argument, type.name); !value.empty())
      return ScalarText{&type, value};
  }
  for (const auto& [spelling, name] : kSpellings) {
    if (const auto value = after(argument, spelling); !value.empty())
      return ScalarText{&plain_facts(*plain_type_named(name)), value};
  }
  return std::nullopt;
}

std::string scalar_types() {
  std::vector<std::string> names;
  for (const PlainFacts& type : plain_types()) names.emplace_back(type.name);
  return join(names, ", ");
}

Result<std::string> scalar_of(const PlainFacts& type, double value) {
  const std::string fault = value_fault(type, value);
  if (!fault.empty()) return usage_error(fault);
  return fmt::format("{} {}", type.name, number_text(type, value));
}

std::uint64_t bits_of(const PlainFacts& type, double value) {
  if (type.whole) return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  return type.bytes == 4 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                         : std::bit_cast<std::uint64_t>(value);
}

std::optional<Scalar> read_scalar(std::string_view argument) {
  const auto split = split_scalar(argument);
  if (!split) return std::nullopt;
  const PlainFacts& type = *split->type;
  const auto value = parse_number(split->value);
  if (!value) return std::nullopt;
  const auto stored = scalar_of(type, *value);
  if (!stored || *stored != argument) return std::nullopt;
  return Scalar{&type, bits_of(type, *value),
                std::string(split->value) + std::string(type.c_suffix)};
}

}  // namespace fatune
