// units.hpp: Declares units as types, so that only flops over time give a rate.
#pragma once

#include <compare>
#include <cstdint>

namespace fatune {

template <typename Tag, typename Rep = double>
struct Quantity {
  Rep value{};
  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep v) : value(v) {}
  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.value + b.value);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.value - b.value);
  }
  friend constexpr Quantity operator*(Quantity a, Rep f) { return Quantity(a.value * f); }
  friend constexpr double operator/(Quantity a, Quantity b) {
    return static_cast<double>(a.value) / static_cast<double>(b.value);
  }
};

using Micros = Quantity<struct MicrosTag>;
using Seconds = Quantity<struct SecondsTag>;
using Flops = Quantity<struct FlopsTag>;
using TeraflopsPerSecond = Quantity<struct RateTag>;
using Bytes = Quantity<struct BytesTag, std::uint64_t>;

inline constexpr double kUsPerMs = 1e3, kMsPerSecond = 1e3;

constexpr Seconds to_seconds(Micros t) { return Seconds(t.value * 1e-6); }
constexpr TeraflopsPerSecond operator/(Flops work, Seconds time) {
  return TeraflopsPerSecond(work.value / time.value * 1e-12);
}

}  // namespace fatune
