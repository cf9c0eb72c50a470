// operations.hpp: Defines the arithmetic that instructions of several types share, on one lane.
#pragma once

#include <cstdint>
#include <type_traits>

namespace fatune::ptx {

/// Sums and products of integers wrap around: they are formed without sign, of 16 bits in 32.
template <typename T>
using sum_t = std::conditional_t<std::is_floating_point_v<T>, T,
                                 std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>>;

inline constexpr auto kAdd = []<typename T>(T a, T b) {
  return static_cast<T>(static_cast<sum_t<T>>(a) + static_cast<sum_t<T>>(b));
};
inline constexpr auto kSubtract = []<typename T>(T a, T b) {
  return static_cast<T>(static_cast<sum_t<T>>(a) - static_cast<sum_t<T>>(b));
};
inline constexpr auto kMultiply = []<typename T>(T a, T b) {
  return static_cast<T>(static_cast<sum_t<T>>(a) * static_cast<sum_t<T>>(b));
};
/// The product of two f32 is exact in f64; the second rounding of the sum is a tie's tail at most.
inline constexpr auto kMultiplyAdd = [](float a, float b, float c) {
  return static_cast<float>(static_cast<double>(a) * b + c);
};
inline constexpr auto kNegate = []<typename T>(T a) { return static_cast<T>(-a); };

template <typename T>
bool is_nan(T a) {
  if constexpr (std::is_floating_point_v<T>) return a != a;
  return false;
}
/// One operand where the other is NaN.
inline constexpr auto kLeast = []<typename T>(T a, T b) { return is_nan(a) || b < a ? b : a; };
inline constexpr auto kLargest = []<typename T>(T a, T b) { return is_nan(a) || b > a ? b : a; };

}  // namespace fatune::ptx
