// scalar.cpp: Reads typed values among a stage's arguments, and writes each in one spelling.
#include "model/wisdom/scalar.hpp"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"

namespace fatune {
namespace {

constexpr double kExact = 9007199254740992;  // 2^53
constexpr ScalarType kTypes[] = {
    {"i32", 4, -2147483648.0, 2147483647.0, true, "int32_t", ""},
    {"u32", 4, 0, 4294967295.0, true, "uint32_t", "u"},
    {"i64", 8, -kExact, kExact, true, "int64_t", "LL"},
    {"u64", 8, 0, kExact, true, "uint64_t", "ULL"},
    {"f32", 4, -FLT_MAX, FLT_MAX, false, "float", "f"},
    {"f64", 8, -DBL_MAX, DBL_MAX, false, "double", ""},
    {"bool", 1, 0, 1, true, "unsigned char", ""},
};
/// Other spellings; a longer one stands before those that it begins with.
constexpr std::pair<std::string_view, std::string_view> kSpellings[] = {
    {"unsigned long long", "u64"},
    {"unsigned long", "u64"},
    {"unsigned int", "u32"},
    {"unsigned", "u32"},
    {"long long", "i64"},
    {"long", "i64"},
    {"int", "i32"},
    {"float", "f32"},
    {"double", "f64"},
    {"size_t", "u64"},
    {"int32_t", "i32"},
    {"uint32_t", "u32"},
    {"int64_t", "i64"},
    {"uint64_t", "u64"},
};

const ScalarType* type_named(std::string_view name) {
  const auto* const found = std::ranges::find(kTypes, name, &ScalarType::name);
  return found == std::end(kTypes) ? nullptr : found;
}

/// Returns what follows the word; empty if the text does not begin with it.
std::string_view after(std::string_view text, std::string_view word) {
  if (!text.starts_with(word)) return {};
  const std::string_view rest = text.substr(word.size());
  return rest.empty() || in_class(rest.front(), "A-Za-z0-9_") ? std::string_view() : trim(rest);
}

std::string number_text(const ScalarType& type, double value) {
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
  for (const ScalarType& type : kTypes) {
    if (const auto value = after(argument, type.name); !value.empty())
      return ScalarText{&type, value};
  }
  for (const auto& [spelling, name] : kSpellings) {
    if (const auto value = after(argument, spelling); !value.empty())
      return ScalarText{type_named(name), value};
  }
  return std::nullopt;
}

std::string scalar_types() {
  std::vector<std::string> names;
  for (const ScalarType& type : kTypes) names.emplace_back(type.name);
  return join(names, ", ");
}

Result<std::string> scalar_of(const ScalarType& type, double value) {
  if (type.whole && value != std::floor(value))
    return usage_error(
        fmt::format("is {}, which is not a whole number, as {} needs", value, type.name));
  if (value < type.least || value > type.most) {
    const auto bound = [&](double limit) {
      return type.whole ? fmt::format("{}", static_cast<std::int64_t>(limit))
                        : fmt::format("{:.6g}", limit);
    };
    return usage_error(fmt::format("is {}, but {} holds {} to {}", value, type.name,
                                   bound(type.least), bound(type.most)));
  }
  return fmt::format("{} {}", type.name, number_text(type, value));
}

std::optional<Scalar> read_scalar(std::string_view argument) {
  const auto split = split_scalar(argument);
  if (!split) return std::nullopt;
  const ScalarType& type = *split->type;
  const auto value = parse_number(split->value);
  if (!value) return std::nullopt;
  const auto stored = scalar_of(type, *value);
  if (!stored || *stored != argument) return std::nullopt;
  std::uint64_t bits =
      static_cast<std::uint64_t>(static_cast<std::int64_t>(type.whole ? *value : 0));
  if (!type.whole) {
    bits = type.bytes == 4 ? std::bit_cast<std::uint32_t>(static_cast<float>(*value))
                           : std::bit_cast<std::uint64_t>(*value);
  }
  return Scalar{&type, bits, std::string(split->value) + std::string(type.c_suffix)};
}

}  // namespace fatune
