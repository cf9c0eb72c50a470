// convert.cpp: Executes cvt between integers, floats, halves and fp8.
#include <algorithm>
#include <cmath>

#include "ptx/half.hpp"
#include "ptx/lanes.hpp"

namespace fatune::ptx {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

enum class Type : std::uint8_t {
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kF16,
  kBf16,
  kF32,
  kF16x2,
  kBf16x2,
  kE4m3x2,
  kE5m2x2
};
constexpr std::string_view kTypes[] = {"u8",  "u16",   "u32",    "u64",    "s8",
                                       "s16", "s32",   "s64",    "f16",    "bf16",
                                       "f32", "f16x2", "bf16x2", "e4m3x2", "e5m2x2"};

struct Conversion {
  Type to = Type::kU32, from = Type::kU32;
  bool truncates = false;  ///< .rzi, in place of .rni
  bool integral = false;   ///< a float to a whole float
  bool unit = false;       ///< .sat: to between 0 and 1
};

bool is_integer(Type type) { return type <= Type::kS64; }
unsigned integer_bits(Type type) { return 8U << (static_cast<unsigned>(type) & 3U); }
bool is_signed(Type type) { return type >= Type::kS8; }
bool is_pair(Type type) { return type >= Type::kF16x2 && type <= Type::kE5m2x2; }

/// Sign-extended or zero-extended from the width of the type.
u64 integer_of(Type type, u64 bits) {
  const unsigned unused = 64 - integer_bits(type);
  const u64 up = bits << unused;
  return is_signed(type) ? static_cast<u64>(static_cast<std::int64_t>(up) >> unused) : up >> unused;
}

double float_of(Type type, u64 bits) {
  switch (type) {
    case Type::kF16:
      return decoded<Dtype::kF16>(static_cast<u32>(bits));
    case Type::kBf16:
      return decoded<Dtype::kBf16>(static_cast<u32>(bits));
    default:
      return std::bit_cast<float>(static_cast<u32>(bits));
  }
}

double whole(const Conversion& how, double x) {
  return how.truncates ? std::trunc(x) : std::nearbyint(x);
}

u64 from_float(const Conversion& how, double x) {
  if (how.integral) x = whole(how, x);
  if (how.unit) x = x > 0 ? std::min(x, 1.0) : 0;
  switch (how.to) {
    case Type::kF16:
      return encoded<Dtype::kF16>(static_cast<float>(x));
    case Type::kBf16:
      return encoded<Dtype::kBf16>(static_cast<float>(x));
    default:
      return std::bit_cast<u32>(static_cast<float>(x));
  }
}

/// Saturates; NaN becomes 0.
u64 to_integer(const Conversion& how, double x) {
  if (std::isnan(x)) return 0;
  x = whole(how, x);
  const unsigned bits = integer_bits(how.to);
  const double end = std::ldexp(1.0, static_cast<int>(is_signed(how.to) ? bits - 1 : bits));
  const double least = is_signed(how.to) ? -end : 0;
  if (x >= end)
    return bits == 64 ? (is_signed(how.to) ? ~u64{0} >> 1U : ~u64{0}) : static_cast<u64>(end) - 1;
  if (x <= least) return static_cast<u64>(static_cast<std::int64_t>(least));
  return x < 0 ? static_cast<u64>(static_cast<std::int64_t>(x)) : static_cast<u64>(x);
}

u64 converted(const Conversion& how, u64 bits) {
  if (!is_integer(how.from)) {
    const double x = float_of(how.from, bits);
    return is_integer(how.to) ? to_integer(how, x) : from_float(how, x);
  }
  const u64 value = integer_of(how.from, bits);
  if (is_integer(how.to)) return integer_of(how.to, value);
  const double x = is_signed(how.from) ? static_cast<double>(static_cast<std::int64_t>(value))
                                       : static_cast<double>(value);
  return from_float(how, x);
}

Step convert(Turn& turn) {
  const Conversion how = turn.at.detail_as<Conversion>();
  for_lanes(turn.mask, [&](int lane) {
    turn.set(turn.at.refs[0], lane, converted(how, turn.bits_of(turn.at.refs[1], lane)));
  });
  return Step::kNext;
}

constexpr auto kHalfToSingle = [](std::uint16_t bits) { return decoded<Dtype::kF16>(bits); };

u32 half_of(Type type, float x) {
  switch (type) {
    case Type::kF16x2:
      return encoded<Dtype::kF16>(x);
    case Type::kBf16x2:
      return encoded<Dtype::kBf16>(x);
    case Type::kE4m3x2:
      return encoded<Dtype::kE4m3>(x);
    default:
      return encoded<Dtype::kE5m2>(x);
  }
}
float half_value(Type type, u32 bits) {
  switch (type) {
    case Type::kF16x2:
      return decoded<Dtype::kF16>(bits);
    case Type::kBf16x2:
      return decoded<Dtype::kBf16>(bits);
    case Type::kE4m3x2:
      return decoded<Dtype::kE4m3>(bits);
    default:
      return decoded<Dtype::kE5m2>(bits);
  }
}
unsigned half_bits(Type type) { return type >= Type::kE4m3x2 ? 8 : 16; }

/// cvt.f16x2.f32 d, a, b: a in the upper half.
Step pack_pair(Turn& turn) {
  const Conversion how = turn.at.detail_as<Conversion>();
  const auto a = turn.in<float>(1), b = turn.in<float>(2);
  Row<u32> d{};
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    d[lane] = half_of(how.to, a[lane]) << half_bits(how.to) | half_of(how.to, b[lane]);
  }
  turn.out(0, d);
  return Step::kNext;
}

/// Between pairs: cvt.rn.f16x2.e4m3x2 d, a.
Step convert_pair(Turn& turn) {
  const Conversion how = turn.at.detail_as<Conversion>();
  const auto a = turn.in<u32>(1);
  Row<u32> d{};
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const float low = half_value(how.from, a[lane]);
    const float high = half_value(how.from, a[lane] >> half_bits(how.from));
    d[lane] = half_of(how.to, high) << half_bits(how.to) | half_of(how.to, low);
  }
  turn.out(0, d);
  return Step::kNext;
}

std::optional<Type> type_of(const std::string& word) {
  const auto* found = std::find(std::begin(kTypes), std::end(kTypes), word);
  if (found == std::end(kTypes)) return std::nullopt;
  return static_cast<Type>(found - std::begin(kTypes));
}

bool read_modifier(const std::string& part, Conversion& how) {
  how.truncates |= part == "rzi";
  how.integral |= part == "rzi" || part == "rni";
  how.unit |= part == "sat";
  static constexpr std::string_view kKnown[] = {"rn", "rni", "rzi", "sat", "satfinite", "ftz"};
  return std::ranges::count(kKnown, part) > 0;
}

}  // namespace

std::optional<Meaning> convert_meaning(const Parts& parts) {
  if (parts[0] != "cvt" || parts.size() < 3) return std::nullopt;
  const auto to = type_of(parts[parts.size() - 2]), from = type_of(parts.back());
  if (!to || !from) return std::nullopt;
  Conversion how{*to, *from};
  for (std::size_t i = 1; i + 2 < parts.size(); ++i) {
    if (!read_modifier(parts[i], how)) return std::nullopt;
  }
  if (how.unit && (is_integer(how.to) || is_integer(how.from))) return std::nullopt;
  const bool eight = how.to == Type::kE4m3x2 || how.to == Type::kE5m2x2;
  if (has(parts, "satfinite") != eight) return std::nullopt;
  Handler handler = convert;
  if (is_pair(how.to)) {
    handler = is_pair(how.from) ? convert_pair : pack_pair;
    if (!is_pair(how.from) && how.from != Type::kF32) return std::nullopt;
  } else if (how.from == Type::kF16 && how.to == Type::kF32 && !how.unit) {
    handler = unary<float, std::uint16_t, kHalfToSingle>;
  }
  return Meaning{handler, Collective::kNone, 0, detail(how)};
}

}  // namespace fatune::ptx
