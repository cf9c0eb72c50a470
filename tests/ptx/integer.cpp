// integer.cpp: Executes integer arithmetic, logic, shifts, bit fields and prmt.
#include <algorithm>
#include <bit>

#include "ptx/lanes.hpp"
#include "ptx/operations.hpp"

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
template <typename Signed, typename Unsigned, typename T>
using with_sign_t = std::conditional_t<std::is_signed_v<T>, Signed, Unsigned>;
template <typename T>
using wide_t = std::conditional_t<
    sizeof(T) == 2, with_sign_t<i32, u32, T>,
    std::conditional_t<sizeof(T) == 4, with_sign_t<i64, u64, T>, with_sign_t<i128, u128, T>>>;

constexpr auto kMultiplyHigh = []<typename T>(T a, T b) {
  return static_cast<T>((static_cast<wide_t<T>>(a) * b) >> (8 * sizeof(T)));
};
constexpr auto kMultiplyWide = []<typename T>(T a, T b) {
  return static_cast<wide_t<T>>(static_cast<wide_t<T>>(a) * static_cast<wide_t<T>>(b));
};
constexpr auto kMultiplyAddLow = [](auto a, auto b, auto c) { return kAdd(kMultiply(a, b), c); };
constexpr auto kMultiplyAddWide = [](auto a, auto b, auto c) {
  return kAdd(kMultiplyWide(a, b), c);
};
/// By zero all bits are set, as on the device.
constexpr auto kDivide = []<typename T>(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return kSubtract(T{0}, a);
  return static_cast<T>(a / b);
};
constexpr auto kRemainder = []<typename T>(T a, T b) {
  if (b == 0) return a;
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return T{0};
  return static_cast<T>(a % b);
};
constexpr auto kMinus = []<typename T>(T a) { return kSubtract(T{0}, a); };
constexpr auto kAbsolute = [](auto a) { return a < 0 ? kMinus(a) : a; };
constexpr auto kAnd = []<typename T>(T a, T b) { return static_cast<T>(a & b); };
constexpr auto kOr = []<typename T>(T a, T b) { return static_cast<T>(a | b); };
constexpr auto kXor = []<typename T>(T a, T b) { return static_cast<T>(a ^ b); };
constexpr auto kNot = []<typename T>(T a) { return static_cast<T>(~a); };
/// A distance beyond the width shifts everything out.
constexpr auto kShiftLeft = []<typename T>(T a, u32 by) {
  return by >= 8 * sizeof(T) ? T{0} : static_cast<T>(static_cast<u64>(a) << by);
};
constexpr auto kShiftRight = []<typename T>(T a, u32 by) {
  return static_cast<T>(by < 8 * sizeof(T) ? a >> by : a < 0 ? -1 : 0);
};
/// shf: the upper or lower word of b:a shifted, by at most 32 (clamp) or modulo 32 (wrap).
template <bool kLeft, bool kWrap>
constexpr auto kFunnelShift = [](u32 a, u32 b, u32 by) {
  const u32 n = kWrap ? by & 31U : std::min(by, 32U);
  const u64 both = static_cast<u64>(b) << 32U | a;
  return static_cast<u32>(kLeft ? (both << n) >> 32U : both >> n);
};
constexpr auto kCountLeading = [](auto a) { return static_cast<u32>(std::countl_zero(a)); };
constexpr auto kCountOnes = [](auto a) { return static_cast<u32>(std::popcount(a)); };
constexpr auto kExtractBits = []<typename T>(T a, u32 first, u32 count) {
  constexpr u32 kBits = 8 * sizeof(T);
  first &= 0xffU;
  count &= 0xffU;
  if (count == 0) return T{0};
  const u32 last = std::min(first + count - 1, kBits - 1);
  const bool sign = std::is_signed_v<T> && (static_cast<u64>(a) >> last & 1U) != 0;
  u64 d = first >= kBits ? 0 : static_cast<u64>(a) >> first;
  if (count < 64) d &= (u64{1} << count) - 1;
  const u32 filled = first >= kBits ? 0 : last - first + 1;
  if (sign && filled < 64) d |= ~u64{0} << filled;
  return static_cast<T>(d);
};
constexpr auto kPermute = [](u32 a, u32 b, u32 selectors) {
  const u64 both = static_cast<u64>(b) << 32U | a;
  u32 d = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 selector = selectors >> (4 * i) & 15U;
    u32 byte = static_cast<u32>(both >> (8 * (selector & 7U))) & 0xffU;
    if ((selector & 8U) != 0) byte = (byte & 0x80U) != 0 ? 0xffU : 0;
    d |= byte << (8 * i);
  }
  return d;
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
constexpr auto kLargestOfHalves = [](u32 a, u32 b) {
  return std::max(a & 0xffffU, b & 0xffffU) | std::max(a >> 16U, b >> 16U) << 16U;
};

template <typename T>
void add_any_width(Table& table, const std::string& type) {
  table["add." + type] = {binary_of<T, kAdd>};
  table["sub." + type] = {binary_of<T, kSubtract>};
  table["mul.lo." + type] = {binary_of<T, kMultiply>};
  table["mul.hi." + type] = {binary_of<T, kMultiplyHigh>};
  table["mad.lo." + type] = {ternary_of<T, kMultiplyAddLow>};
  table["div." + type] = {binary_of<T, kDivide>};
  table["rem." + type] = {binary_of<T, kRemainder>};
  table["min." + type] = {binary_of<T, kLeast>};
  table["max." + type] = {binary_of<T, kLargest>};
  table["shr." + type] = {binary<T, T, u32, kShiftRight>};
  if constexpr (sizeof(T) < 8) {
    table["mul.wide." + type] = {binary<wide_t<T>, T, T, kMultiplyWide>};
    table["mad.wide." + type] = {ternary<wide_t<T>, T, T, wide_t<T>, kMultiplyAddWide>};
  }
  if constexpr (sizeof(T) > 2) table["bfe." + type] = {ternary<T, T, u32, u32, kExtractBits>};
  if constexpr (std::is_signed_v<T>) {
    table["neg." + type] = {unary_of<T, kMinus>};
    table["abs." + type] = {unary_of<T, kAbsolute>};
  }
}

template <typename T>
void add_bits(Table& table, const std::string& type) {
  table["and." + type] = {binary_of<T, kAnd>};
  table["or." + type] = {binary_of<T, kOr>};
  table["xor." + type] = {binary_of<T, kXor>};
  table["not." + type] = {unary_of<T, kNot>};
  table["shl." + type] = {binary<T, T, u32, kShiftLeft>};
  table["shr." + type] = {binary<T, T, u32, kShiftRight>};
}

}  // namespace

void add_integer(Table& table) {
  add_any_width<i16>(table, "s16");
  add_any_width<i32>(table, "s32");
  add_any_width<i64>(table, "s64");
  add_any_width<u16>(table, "u16");
  add_any_width<u32>(table, "u32");
  add_any_width<u64>(table, "u64");
  table["max.u16x2"] = {binary_of<u32, kLargestOfHalves>};
  add_bits<u16>(table, "b16");
  add_bits<u32>(table, "b32");
  add_bits<u64>(table, "b64");
  table["clz.b32"] = {unary<u32, u32, kCountLeading>};
  table["clz.b64"] = {unary<u32, u64, kCountLeading>};
  table["popc.b32"] = {unary<u32, u32, kCountOnes>};
  table["popc.b64"] = {unary<u32, u64, kCountOnes>};
  table["prmt.b32"] = {ternary_of<u32, kPermute>};
  table["shf.l.wrap.b32"] = {ternary_of<u32, kFunnelShift<true, true>>};
  table["shf.l.clamp.b32"] = {ternary_of<u32, kFunnelShift<true, false>>};
  table["shf.r.wrap.b32"] = {ternary_of<u32, kFunnelShift<false, true>>};
  table["shf.r.clamp.b32"] = {ternary_of<u32, kFunnelShift<false, false>>};
  table["bfi.b32"] = {insert_bits<u32>};
  table["bfi.b64"] = {insert_bits<u64>};
  table["lop3.b32"] = {logic3};
}

}  // namespace fatune::ptx
