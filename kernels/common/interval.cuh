// interval.cuh: Computes the least and the largest value of whole-number expressions over ranges.
// Int must hold every result. The host includes it, too, and defines DEVICE before.
#pragma once

#ifndef DEVICE
#include "common/prelude.cuh"
#endif

/// From `lo` to `hi`, both included. A truth value is 0 or 1, or from 0 to 1 where it varies.
template <typename Int>
struct Interval {
  Int lo, hi;

  DEVICE Interval(Int value) : lo(value), hi(value) {}
  DEVICE Interval(Int least, Int most) : lo(least), hi(most) {}
  DEVICE static Interval truth(bool always, bool ever) { return {Int{always}, Int{ever}}; }
  DEVICE bool is_one() const { return lo == hi; }
  /// Whether it is true everywhere, or somewhere. A value is true unless it is 0.
  DEVICE bool always() const { return lo > 0 || hi < 0; }
  DEVICE bool ever() const { return lo != 0 || hi != 0; }
};

template <typename Int>
DEVICE Int lesser(Int a, Int b) {
  return a < b ? a : b;
}
template <typename Int>
DEVICE Int greater(Int a, Int b) {
  return a > b ? a : b;
}

/// The interval of four values, those of a monotonic function at the corners of two intervals.
template <typename Int>
DEVICE Interval<Int> around(Int a, Int b, Int c, Int d) {
  return {lesser(lesser(a, b), lesser(c, d)), greater(greater(a, b), greater(c, d))};
}

template <typename Int>
DEVICE Interval<Int> operator-(Interval<Int> a) {
  return {-a.hi, -a.lo};
}
template <typename Int>
DEVICE Interval<Int> operator+(Interval<Int> a, Interval<Int> b) {
  return {a.lo + b.lo, a.hi + b.hi};
}
template <typename Int>
DEVICE Interval<Int> operator-(Interval<Int> a, Interval<Int> b) {
  return {a.lo - b.hi, a.hi - b.lo};
}
template <typename Int>
DEVICE Interval<Int> operator*(Interval<Int> a, Interval<Int> b) {
  return around<Int>(a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi);
}
/// No divisor is 0. Between divisors of both signs, the nearest to 0 give the largest quotients.
template <typename Int>
DEVICE Interval<Int> operator/(Interval<Int> a, Interval<Int> b) {
  if (b.lo < 0 && b.hi > 0) {
    const Int most = greater(greater(a.hi, -a.lo), greater(a.lo, -a.hi));
    return {-most, most};
  }
  return around<Int>(a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi);
}
/// The remainder has the sign of `a`, and is less than the divisor and no more than `a`.
template <typename Int>
DEVICE Interval<Int> operator%(Interval<Int> a, Interval<Int> b) {
  if (a.is_one() && b.is_one()) return {a.lo % b.lo, a.lo % b.lo};
  if (b.is_one() && a.lo / b.lo == a.hi / b.lo && (a.lo >= 0 || a.hi <= 0))
    return {a.lo % b.lo, a.hi % b.lo};  // between two multiples
  const Int most = greater(greater(b.hi, -b.lo), greater(b.lo, -b.hi)) - 1;
  return {a.lo < 0 ? greater(a.lo, -most) : 0, a.hi > 0 ? lesser(a.hi, most) : 0};
}
/// Shifted by 0 to 31.
template <typename Int>
DEVICE Interval<Int> operator<<(Interval<Int> a, Interval<Int> b) {
  const Int one = 1;
  return a * Interval<Int>{one << b.lo, one << b.hi};
}
template <typename Int>
DEVICE Interval<Int> operator>>(Interval<Int> a, Interval<Int> b) {
  return around<Int>(a.lo >> b.lo, a.lo >> b.hi, a.hi >> b.lo, a.hi >> b.hi);
}

/// Returns the bits of a value that differ from its sign.
template <typename Int>
DEVICE Int bits_of(Int value) {
  return value < 0 ? ~value : value;
}
/// Returns the range between the powers of two beyond both, whichever way their bits are joined.
/// NVRTC 13.0 does not terminate where the bits are a maximum of ~lo and hi.
template <typename Int>
DEVICE Interval<Int> joined_bits(Interval<Int> a, Interval<Int> b, Int exact) {
  if (a.is_one() && b.is_one()) return {exact, exact};
  Int ones = bits_of(a.lo) | bits_of(a.hi) | bits_of(b.lo) | bits_of(b.hi);
  for (int shift = 1; shift < 8 * static_cast<int>(sizeof(Int)); shift *= 2) ones |= ones >> shift;
  return {a.lo < 0 || b.lo < 0 ? -ones - 1 : 0, ones};
}
template <typename Int>
DEVICE Interval<Int> operator&(Interval<Int> a, Interval<Int> b) {
  return joined_bits<Int>(a, b, a.lo & b.lo);
}
template <typename Int>
DEVICE Interval<Int> operator|(Interval<Int> a, Interval<Int> b) {
  return joined_bits<Int>(a, b, a.lo | b.lo);
}
template <typename Int>
DEVICE Interval<Int> operator^(Interval<Int> a, Interval<Int> b) {
  return joined_bits<Int>(a, b, a.lo ^ b.lo);
}
template <typename Int>
DEVICE Interval<Int> operator~(Interval<Int> a) {
  return {-a.hi - 1, -a.lo - 1};
}

template <typename Int>
DEVICE Interval<Int> operator<(Interval<Int> a, Interval<Int> b) {
  return Interval<Int>::truth(a.hi < b.lo, a.lo < b.hi);
}
template <typename Int>
DEVICE Interval<Int> operator<=(Interval<Int> a, Interval<Int> b) {
  return Interval<Int>::truth(a.hi <= b.lo, a.lo <= b.hi);
}
template <typename Int>
DEVICE Interval<Int> operator>(Interval<Int> a, Interval<Int> b) {
  return b < a;
}
template <typename Int>
DEVICE Interval<Int> operator>=(Interval<Int> a, Interval<Int> b) {
  return b <= a;
}
template <typename Int>
DEVICE Interval<Int> operator==(Interval<Int> a, Interval<Int> b) {
  return Interval<Int>::truth(a.is_one() && b.is_one() && a.lo == b.lo,
                              a.lo <= b.hi && b.lo <= a.hi);
}
template <typename Int>
DEVICE Interval<Int> operator!(Interval<Int> a) {
  return Interval<Int>::truth(!a.ever(), !a.always());
}
template <typename Int>
DEVICE Interval<Int> operator!=(Interval<Int> a, Interval<Int> b) {
  return !(a == b);
}
template <typename Int>
DEVICE Interval<Int> operator&&(Interval<Int> a, Interval<Int> b) {
  return Interval<Int>::truth(a.always() && b.always(), a.ever() && b.ever());
}
template <typename Int>
DEVICE Interval<Int> operator||(Interval<Int> a, Interval<Int> b) {
  return Interval<Int>::truth(a.always() || b.always(), a.ever() || b.ever());
}

template <typename Int>
DEVICE Interval<Int> either(Interval<Int> condition, Interval<Int> a, Interval<Int> b) {
  if (condition.always()) return a;
  if (!condition.ever()) return b;
  return {lesser(a.lo, b.lo), greater(a.hi, b.hi)};
}
template <typename Int>
DEVICE Interval<Int> min(Interval<Int> a, Interval<Int> b) {
  return {lesser(a.lo, b.lo), lesser(a.hi, b.hi)};
}
template <typename Int>
DEVICE Interval<Int> max(Interval<Int> a, Interval<Int> b) {
  return {greater(a.lo, b.lo), greater(a.hi, b.hi)};
}
template <typename Int>
DEVICE Interval<Int> abs(Interval<Int> a) {
  const Int most = greater(a.hi, -a.lo);
  return {a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : Int{0}, most};
}

/// Rounded down, as // and % of Python are.
template <typename Int>
DEVICE Int floor_div(Int a, Int b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
template <typename Int>
DEVICE Int floor_mod(Int a, Int b) {
  return a - floor_div(a, b) * b;
}
template <typename Int>
DEVICE Interval<Int> floor_div(Interval<Int> a, Interval<Int> b) {
  if (b.lo < 0 && b.hi > 0) {
    const Interval<Int> quotients = a / b;
    return {quotients.lo - 1, quotients.hi};
  }
  return around<Int>(floor_div(a.lo, b.lo), floor_div(a.lo, b.hi), floor_div(a.hi, b.lo),
                     floor_div(a.hi, b.hi));
}
template <typename Int>
DEVICE Interval<Int> floor_mod(Interval<Int> a, Interval<Int> b) {
  if (b.is_one() && floor_div(a.lo, b.lo) == floor_div(a.hi, b.lo))
    return {floor_mod(a.lo, b.lo), floor_mod(a.hi, b.lo)};
  return {lesser(b.lo + 1, Int{0}), greater(b.hi - 1, Int{0})};
}
