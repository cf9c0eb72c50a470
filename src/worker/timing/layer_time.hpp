// layer_time.hpp - replays of layers with and without attention, in turn, to what attention costs
// in a layer, and whether that can be told.
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

/// Chosen: where the layer without attention moves by more of its time, or of attention's where
/// that is longer, times in it are differences of noise.
inline constexpr double kSteadyLayer = 0.005;

struct LayerTimes {
  std::vector<LayerTurn> turns;
  double without_us = 0;  ///< of a layer without attention
};

/// Of times a layer: without attention, with it, without, with, ..., without; 3 or more.
LayerTimes layer_times(std::span<const double> in_turn_us);
/// Replays one behind the other, each of `with` between two without attention. Before them one that
/// does not count: the device waits for it, not it for the device. Empty when the device hangs.
Result<std::optional<LayerTimes>> time_layers(Sampler& sampler, const Layer& layer,
                                              std::span<const HotLoop* const> with);

/// Takes a turn in a layer until one is steady, a few times at most: the last one. Empty where the
/// contestant is not timed in a layer.
using TakeLayerTurn = std::function<Result<std::optional<LayerTurn>>()>;
Result<std::optional<LayerTurn>> steady_turn(const TakeLayerTurn& take);

/// Of a contestant's times, 10 or more, in turn with others' launches, and behind its own: "order:
/// ..." when it matters which; empty when it does not, within the noise.
std::string order_finding(std::span<const double> in_turn_us, std::span<const double> in_a_row_us,
                          std::uint64_t seed);

}  // namespace fatune
