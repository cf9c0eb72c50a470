// convert.cpp: Executes cvt between integers, floats, halves and fp8.
#include <cmath>
#include <limits>

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
  kF64,
  kF16x2,
  kBf16x2,
  kE4m3x2,
  kE5m2x2,
  kTf32,
};
constexpr std::string_view kTypes[] = {"u8",    "u16",    "u32",    "u64",    "s8",  "s16",
                                       "s32",   "s64",    "f16",    "bf16",   "f32", "f64",
                                       "f16x2", "bf16x2", "e4m3x2", "e5m2x2", "tf32"};
enum class Rounding : std::uint8_t { kNearest, kZero, kDown, kUp };

struct Conversion {
  Type to = Type::kU32, from = Type::kU32;
  Rounding rounding = Rounding::kNearest;
  bool integral = false;  ///< a float to a whole float: .rni
  bool unit = false;      ///< .sat: to between 0 and 1
  bool relu = false;
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
    case Type::kF32:
      return std::bit_cast<float>(static_cast<u32>(bits));
    default:
      return std::bit_cast<double>(bits);
  }
}

double whole(double x, Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearest:
      return std::nearbyint(x);
    case Rounding::kZero:
      return std::trunc(x);
    case Rounding::kDown:
      return std::floor(x);
    default:
      return std::ceil(x);
  }
}

/// f64 to f32 in a direction; conversions to halves are to nearest.
float single(double x, Rounding rounding) {
  const auto nearest = static_cast<float>(x);
  const double back = nearest;
  const bool up = rounding == Rounding::kUp || (rounding == Rounding::kZero && x < 0);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (rounding == Rounding::kNearest || std::isnan(x) || back == x) return nearest;
  if (up) return back < x ? std::nextafter(nearest, kInfinity) : nearest;
  return back > x ? std::nextafter(nearest, -kInfinity) : nearest;
}

/// Upper bits of f32, ties away from zero.
u32 tf32_bits(float x) { return (std::bit_cast<u32>(x) + 0x1000U) & ~0x1fffU; }

u64 from_float(const Conversion& how, double x) {
  if (how.integral) x = whole(x, how.rounding);
  if (how.unit) x = x > 0 ? std::min(x, 1.0) : 0;
  if (how.relu) x = x < 0 ? 0 : x;
  switch (how.to) {
    case Type::kF16:
      return encoded<Dtype::kF16>(static_cast<float>(x));
    case Type::kBf16:
      return encoded<Dtype::kBf16>(static_cast<float>(x));
    case Type::kTf32:
      return tf32_bits(static_cast<float>(x));
    case Type::kF32:
      return std::bit_cast<u32>(single(x, how.rounding));
    default:
      return std::bit_cast<u64>(x);
  }
}

/// Saturates; NaN becomes 0.
u64 to_integer(const Conversion& how, double x) {
  if (std::isnan(x)) return 0;
  x = whole(x, how.rounding);
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

struct HalfToSingle {
  float operator()(std::uint16_t bits) const { return decoded<Dtype::kF16>(bits); }
};

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
    const float high = how.relu && a[lane] < 0 ? 0 : a[lane];
    const float low = how.relu && b[lane] < 0 ? 0 : b[lane];
    d[lane] = half_of(how.to, high) << half_bits(how.to) | half_of(how.to, low);
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
  static const std::map<std::string, Rounding, std::less<>> kRoundings = {
      {"rn", Rounding::kNearest},
      {"rna", Rounding::kNearest},
      {"rz", Rounding::kZero},
      {"rm", Rounding::kDown},
      {"rp", Rounding::kUp}};
  const bool integral = part.size() == 3 && part.ends_with("i");
  const auto rounding = kRoundings.find(integral ? part.substr(0, 2) : part);
  if (rounding != kRoundings.end()) {
    how.rounding = rounding->second;
    how.integral = integral;
    return true;
  }
  how.unit |= part == "sat";
  how.relu |= part == "relu";
  return part == "sat" || part == "relu" || part == "satfinite" || part == "ftz";
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
  const bool narrow = how.to == Type::kF16 || how.to == Type::kBf16 || is_pair(how.to);
  if (narrow && how.rounding != Rounding::kNearest) return std::nullopt;
  Handler handler = convert;
  if (is_pair(how.to)) {
    handler = is_pair(how.from) ? convert_pair : pack_pair;
    if (!is_pair(how.from) && how.from != Type::kF32) return std::nullopt;
    if (is_pair(how.from) && how.relu) return std::nullopt;
  } else if (how.from == Type::kF16 && how.to == Type::kF32 && !how.unit) {
    handler = unary<float, std::uint16_t, HalfToSingle>;
  }
  return Meaning{handler, Collective::kNone, 0, detail(how)};
}

}  // namespace fatune::ptx
