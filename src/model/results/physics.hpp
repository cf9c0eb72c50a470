// physics.hpp - a problem and a device to the least time that any right kernel needs.
#pragma once

#include <string>
#include <string_view>

#include "core/units.hpp"
#include "model/problem/problem.hpp"
#include "model/results/measurement.hpp"

namespace fatune {

/// A lower bound and what it comes from: "2.15 GFLOP at 1071 TFLOP/s".
struct Floor {
  Micros time{0};
  std::string why;
};

struct PhysicsFloor {
  Floor in_layer{}, hot{}, cold{};
  std::string unknown{};  ///< which fact of the device is missing; then there are no floors

  /// Of "in_layer", "plain", "hot", "cold"; plain launches find the caches as hot ones do.
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

/// The highest rates that a device can have, a microsecond, and what they follow from: its own
/// clocks and widths, and the table of what a multiprocessor does in a clock.
struct PeakRates {
  double flops = 0;         ///< of the tensor cores, dense, for what the problem may compute in
  double memory_bytes = 0;  ///< read or written, DRAM
  double cache_bytes = 0;   ///< from the L2 cache to the multiprocessors
  std::string flops_origin, memory_origin, cache_origin;  ///< "132 SMs x 4096 a clock x 1980 MHz"
  std::string unknown;  ///< which fact of the device is missing; then there are no rates
};
PeakRates peak_rates(const Problem& problem, const Environment& environment);

/// Dense f16 operations a clock of one multiprocessor's tensor cores; 0 for an architecture that
/// the table lacks.
int tensor_flops_per_clock(int arch);
/// Pairs of query and key that the mask leaves, in one head.
double visible_pairs(const Problem& problem);

/// "1.20 us hot is less than ..." for a time below its floor; empty for any other.
std::string physics_finding(std::string_view which, Micros time, const Floor& floor);

}  // namespace fatune
