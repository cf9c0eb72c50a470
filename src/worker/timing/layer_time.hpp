// layer_time.hpp: Times layers with and without attention in turn, and subtracts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "worker/baselines/executable.hpp"
#include "worker/timing/layer.hpp"
#include "worker/timing/sampler.hpp"

namespace fatune {

/// Chosen: if two neighbouring replays without attention differ by more than this share of the
/// layer's time (or of attention's, if that is longer), the difference is noise.
inline constexpr double kSteadyLayer = 0.005;

struct LayerTimes {
  std::vector<LayerTurn> turns;
  double without_us = 0;  ///< time of a layer without attention
};

/// Subtracts. The times are of a layer without attention, with it, without, with, ..., without; at
/// least 3.
LayerTimes layer_times(std::span<const double> in_turn_us);
/// Queues replays: each of `with` between two without attention. The first replay does not count,
/// because the host may be late with it. Empty if the device hangs.
Result<std::optional<LayerTimes>> time_layers(Sampler& sampler, const Layer& layer,
                                              std::span<const HotLoop* const> with);

/// Repeats a turn in a layer until it is steady, a few times at most, and returns the last one.
/// Empty if the contestant is not timed in a layer.
using TakeLayerTurn = std::function<Result<std::optional<LayerTurn>>()>;
Result<std::optional<LayerTurn>> steady_turn(const TakeLayerTurn& take);

/// Compares a contestant's times in turn with others with its times in a row; at least 10 of each.
/// "order: ..." if they differ; empty if they agree within the noise.
std::string order_finding(std::span<const double> in_turn_us, std::span<const double> in_a_row_us,
                          std::uint64_t seed);

}  // namespace fatune
