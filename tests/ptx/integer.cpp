// integer.cpp: Executes integer arithmetic, logic, shifts, bit fields and prmt.
#include <bit>
#include <limits>

#include "ptx/lanes.hpp"

namespace fatune::ptx {
namespace {

using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
__extension__ using i128 = __int128;
__extension__ using u128 = unsigned __int128;

/// Twice as wide, for products.
template <typename T>
struct Wide;
template <>
struct Wide<i16> {
  using Type = i32;
};
template <>
struct Wide<u16> {
  using Type = u32;
};
template <>
struct Wide<i32> {
  using Type = i64;
};
template <>
struct Wide<u32> {
  using Type = u64;
};
template <>
struct Wide<i64> {
  using Type = i128;
};
template <>
struct Wide<u64> {
  using Type = u128;
};
template <typename T>
using wide_t = typename Wide<T>::Type;

/// Sums and products wrap around: they are formed without sign, of 16 bits in 32.
template <typename T>
using sum_t = std::conditional_t<sizeof(T) == 8, u64, u32>;

struct Add {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<sum_t<T>>(a) + static_cast<sum_t<T>>(b));
  }
};
struct Subtract {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<sum_t<T>>(a) - static_cast<sum_t<T>>(b));
  }
};
struct MultiplyLow {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<sum_t<T>>(a) * static_cast<sum_t<T>>(b));
  }
};
struct MultiplyHigh {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>((static_cast<wide_t<T>>(a) * b) >> (8 * sizeof(T)));
  }
};
struct MultiplyWide {
  template <typename T>
  wide_t<T> operator()(T a, T b) const {
    return static_cast<wide_t<T>>(a) * static_cast<wide_t<T>>(b);
  }
};
struct MultiplyAddLow {
  template <typename T>
  T operator()(T a, T b, T c) const {
    return Add()(MultiplyLow()(a, b), c);
  }
};
struct MultiplyAddHigh {
  template <typename T>
  T operator()(T a, T b, T c) const {
    return Add()(MultiplyHigh()(a, b), c);
  }
};
struct MultiplyAddWide {
  template <typename T>
  wide_t<T> operator()(T a, T b, wide_t<T> c) const {
    return Add()(MultiplyWide()(a, b), c);
  }
};
/// By zero all bits are set, as on the device.
struct Divide {
  template <typename T>
  T operator()(T a, T b) const {
    if (b == 0) return static_cast<T>(~T{0});
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return Subtract()(T{0}, a);
    return static_cast<T>(a / b);
  }
};
struct Remainder {
  template <typename T>
  T operator()(T a, T b) const {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  }
};
struct Least {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};
struct Largest {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct Negate {
  template <typename T>
  T operator()(T a) const {
    return Subtract()(T{0}, a);
  }
};
struct Absolute {
  template <typename T>
  T operator()(T a) const {
    return a < 0 ? Negate()(a) : a;
  }
};
struct And {
  template <typename T>
  T operator()(T a, T b) const {
    return a & b;
  }
};
struct Or {
  template <typename T>
  T operator()(T a, T b) const {
    return a | b;
  }
};
struct Xor {
  template <typename T>
  T operator()(T a, T b) const {
    return a ^ b;
  }
};
struct Not {
  template <typename T>
  T operator()(T a) const {
    return static_cast<T>(~a);
  }
};
/// A distance beyond the width shifts everything out.
struct ShiftLeft {
  template <typename T>
  T operator()(T a, u32 by) const {
    return by >= 8 * sizeof(T) ? T{0} : static_cast<T>(static_cast<u64>(a) << by);
  }
};
struct ShiftRight {
  template <typename T>
  T operator()(T a, u32 by) const {
    constexpr u32 kBits = 8 * sizeof(T);
    if (by < kBits) return static_cast<T>(a >> by);
    return static_cast<T>(a < 0 ? -1 : 0);
  }
};
/// shf: the upper or lower word of b:a shifted, by at most 32 (clamp) or modulo 32 (wrap).
template <bool kLeft, bool kWrap>
struct FunnelShift {
  u32 operator()(u32 a, u32 b, u32 by) const {
    const u32 n = kWrap ? by & 31U : std::min(by, 32U);
    const u64 both = static_cast<u64>(b) << 32U | a;
    return static_cast<u32>(kLeft ? (both << n) >> 32U : both >> n);
  }
};
struct CountLeading {
  template <typename T>
  u32 operator()(T a) const {
    return static_cast<u32>(std::countl_zero(a));
  }
};
struct CountOnes {
  template <typename T>
  u32 operator()(T a) const {
    return static_cast<u32>(std::popcount(a));
  }
};
struct Reverse {
  u32 operator()(u32 a) const {
    u32 d = 0;
    for (u32 bit = 0; bit < 32; ++bit) d |= (a >> bit & 1U) << (31 - bit);
    return d;
  }
};
struct ExtractBits {
  template <typename T>
  T operator()(T a, u32 first, u32 count) const {
    constexpr u32 kBits = 8 * sizeof(T);
    first &= 0xffU;
    count &= 0xffU;
    if (count == 0) return 0;
    const u32 last = std::min(first + count - 1, kBits - 1);
    const bool sign = std::is_signed_v<T> && (static_cast<u64>(a) >> last & 1U) != 0;
    u64 d = first >= kBits ? 0 : static_cast<u64>(a) >> first;
    if (count < 64) d &= (u64{1} << count) - 1;
    const u32 filled = first >= kBits ? 0 : last - first + 1;
    if (sign && filled < 64) d |= ~u64{0} << filled;
    return static_cast<T>(d);
  }
};
struct Permute {
  u32 operator()(u32 a, u32 b, u32 selectors) const {
    const u64 both = static_cast<u64>(b) << 32U | a;
    u32 d = 0;
    for (u32 i = 0; i < 4; ++i) {
      const u32 selector = selectors >> (4 * i) & 15U;
      u32 byte = static_cast<u32>(both >> (8 * (selector & 7U))) & 0xffU;
      if ((selector & 8U) != 0) byte = (byte & 0x80U) != 0 ? 0xffU : 0;
      d |= byte << (8 * i);
    }
    return d;
  }
};

/// bfi f, a, b, first, count: bits of a into b.
template <typename T>
Step insert_bits(Turn& turn) {
  constexpr u32 kBits = 8 * sizeof(T);
  const auto a = turn.in<T>(1), b = turn.in<T>(2);
  const auto first = turn.in<u32>(3), count = turn.in<u32>(4);
  Row<T> d;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const u32 at = first[lane] & 0xffU, bits = count[lane] & 0xffU;
    const T ones = bits >= kBits ? static_cast<T>(~T{0}) : (T{1} << bits) - 1;
    const T mask = at >= kBits ? 0 : ones << at;
    d[lane] = (b[lane] & ~mask) | (at >= kBits ? 0 : a[lane] << at & mask);
  }
  turn.out(0, d);
  return Step::kNext;
}

/// lop3: bit i of the table is the result where a, b and c have the bits of i.
Step logic3(Turn& turn) {
  const auto a = turn.in<u32>(1), b = turn.in<u32>(2), c = turn.in<u32>(3);
  const u32 table = turn.in<u32>(4)[0];
  Row<u32> d{};
  for (u32 i = 0; i < 8; ++i) {
    if ((table >> i & 1U) == 0) continue;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      d[lane] |= ((i & 4U) != 0 ? a[lane] : ~a[lane]) & ((i & 2U) != 0 ? b[lane] : ~b[lane]) &
                 ((i & 1U) != 0 ? c[lane] : ~c[lane]);
    }
  }
  turn.out(0, d);
  return Step::kNext;
}

/// The halves of a register apart.
template <typename T, typename Work>
struct OfHalves {
  u32 operator()(u32 a, u32 b) const {
    const auto half = [&](u32 shift) {
      return static_cast<u16>(Work()(static_cast<T>(a >> shift), static_cast<T>(b >> shift)));
    };
    return half(0) | static_cast<u32>(half(16)) << 16U;
  }
};

template <typename T>
void add_any_width(Table& table, const std::string& type) {
  table["add." + type] = {binary_of<T, Add>};
  table["sub." + type] = {binary_of<T, Subtract>};
  table["mul.lo." + type] = {binary_of<T, MultiplyLow>};
  table["mul.hi." + type] = {binary_of<T, MultiplyHigh>};
  table["mad.lo." + type] = {ternary_of<T, MultiplyAddLow>};
  table["mad.hi." + type] = {ternary_of<T, MultiplyAddHigh>};
  table["div." + type] = {binary_of<T, Divide>};
  table["rem." + type] = {binary_of<T, Remainder>};
  table["min." + type] = {binary_of<T, Least>};
  table["max." + type] = {binary_of<T, Largest>};
  table["shr." + type] = {binary<T, T, u32, ShiftRight>};
  if constexpr (sizeof(T) < 8) {
    table["mul.wide." + type] = {binary<wide_t<T>, T, T, MultiplyWide>};
    table["mad.wide." + type] = {ternary<wide_t<T>, T, T, wide_t<T>, MultiplyAddWide>};
  }
  if constexpr (sizeof(T) > 2) table["bfe." + type] = {ternary<T, T, u32, u32, ExtractBits>};
  if constexpr (std::is_signed_v<T>) {
    table["neg." + type] = {unary_of<T, Negate>};
    table["abs." + type] = {unary_of<T, Absolute>};
  }
}

template <typename T>
void add_bits(Table& table, const std::string& type) {
  table["and." + type] = {binary_of<T, And>};
  table["or." + type] = {binary_of<T, Or>};
  table["xor." + type] = {binary_of<T, Xor>};
  table["not." + type] = {unary_of<T, Not>};
  table["shl." + type] = {binary<T, T, u32, ShiftLeft>};
  table["shr." + type] = {binary<T, T, u32, ShiftRight>};
}

}  // namespace

void add_integer(Table& table) {
  add_any_width<i16>(table, "s16");
  add_any_width<i32>(table, "s32");
  add_any_width<i64>(table, "s64");
  add_any_width<u16>(table, "u16");
  add_any_width<u32>(table, "u32");
  add_any_width<u64>(table, "u64");
  table["max.u16x2"] = {binary_of<u32, OfHalves<u16, Largest>>};
  add_bits<u16>(table, "b16");
  add_bits<u32>(table, "b32");
  add_bits<u64>(table, "b64");
  table["clz.b32"] = {unary<u32, u32, CountLeading>};
  table["clz.b64"] = {unary<u32, u64, CountLeading>};
  table["popc.b32"] = {unary<u32, u32, CountOnes>};
  table["popc.b64"] = {unary<u32, u64, CountOnes>};
  table["brev.b32"] = {unary_of<u32, Reverse>};
  table["prmt.b32"] = {ternary_of<u32, Permute>};
  table["shf.l.wrap.b32"] = {ternary_of<u32, FunnelShift<true, true>>};
  table["shf.l.clamp.b32"] = {ternary_of<u32, FunnelShift<true, false>>};
  table["shf.r.wrap.b32"] = {ternary_of<u32, FunnelShift<false, true>>};
  table["shf.r.clamp.b32"] = {ternary_of<u32, FunnelShift<false, false>>};
  table["bfi.b32"] = {insert_bits<u32>};
  table["bfi.b64"] = {insert_bits<u64>};
  table["lop3.b32"] = {logic3};
}

}  // namespace fatune::ptx
