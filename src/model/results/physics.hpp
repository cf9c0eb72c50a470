// physics.hpp: Computes the least time that any correct kernel needs for a problem on a device.
#pragma once

#include <string>
#include <string_view>

#include "core/units.hpp"
#include "model/problem/problem.hpp"
#include "model/results/measurement.hpp"

namespace fatune {

/// A lower bound and its origin: "2.15 GFLOP at 1071 TFLOP/s".
struct Floor {
  Micros time{0};
  std::string why;
};

struct PhysicsFloor {
  Floor in_layer{}, hot{}, cold{};
  std::string unknown{};  ///< missing fact of the device; then there are no floors

  /// Plain launches find the caches as hot ones do.
  const Floor& of(Time time) const;
};
/// Returns the larger of two bounds. Arithmetic: the products of visible pairs only, at the tensor
/// cores' peak rate. Memory: q, k and v read once. Cold reads come from DRAM. Hot reads come from
/// the L2 cache as far as they fit. In a layer, reads are hot, but keys and values come from DRAM
/// if the lengths differ. Both bounds use the device's highest clocks, and every guess is on the
/// generous side. Launches and exponentials are not counted. A custom operation has its declared
/// least work, at the rate of the fastest element type, since its tensors may have several types.
PhysicsFloor physics_floor(const Problem& problem, const Environment& environment);

/// Highest rates of a device per microsecond, and their origins. They follow from the device's
/// clocks and widths, and from a table of operations per SM and clock.
struct PeakRates {
  double flops = 0;         ///< dense tensor core rate of the types that the problem may use
  double memory_bytes = 0;  ///< DRAM, reads or writes
  double cache_bytes = 0;   ///< from the L2 cache to the SMs
  std::string flops_origin, memory_origin, cache_origin;  ///< "132 SMs x 4096 a clock x 1980 MHz"
  std::string unknown;  ///< missing fact of the device; then there are no rates
};
PeakRates peak_rates(const Problem& problem, const Environment& environment);

/// Dense f16 operations per clock of one SM's tensor cores; 0 for an architecture not in the table.
int tensor_flops_per_clock(int arch);

/// Describes a time below its floor, "1.20 us hot is less than ..."; empty otherwise.
std::string physics_finding(std::string_view which, Micros time, const Floor& floor);

}  // namespace fatune
