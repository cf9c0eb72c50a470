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

  /// Returns the floor of "in_layer", "plain", "hot" or "cold"; plain launches find the caches as
  /// hot ones do.
  const Floor& of(std::string_view time) const;
};
/// The larger of two bounds. Arithmetic: the products of visible pairs alone, at the tensor cores'
/// peak. Memory: q, k and v read once, from DRAM when cold; when hot, from the L2 cache as far as
/// they fit; in a layer as when hot, but keys and values from DRAM where the lengths differ. Both
/// at the highest clocks that the device has; every guess is on the generous side. Neither a launch
/// nor exponentials are counted.
/// For a custom operation: its declared least work, at the rate of the fastest element type, since
/// its tensors may have several.
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
/// Number of query-key pairs that the mask keeps, in one head.
double visible_pairs(const Problem& problem);

/// Describes a time below its floor, "1.20 us hot is less than ..."; empty otherwise.
std::string physics_finding(std::string_view which, Micros time, const Floor& floor);

}  // namespace fatune
