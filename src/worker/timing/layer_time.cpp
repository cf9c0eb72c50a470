// layer_time.cpp: Takes turns in a layer, subtracts neighbours, and compares orders.
#include "worker/timing/layer_time.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/check.hpp"
#include "model/results/statistics.hpp"

namespace fatune {
namespace {

constexpr int kTurnTries = 6;  // chosen: at the power limit about two in three are steady

bool is_steady(double before_us, double behind_us, double attention_us) {
  return std::abs(behind_us - before_us) <= kSteadyLayer * std::max(before_us, attention_us);
}

}  // namespace

LayerTimes layer_times(std::span<const double> in_turn_us) {
  FATUNE_CHECK(in_turn_us.size() >= 3 && in_turn_us.size() % 2 == 1, "begins and ends without");
  LayerTimes found;
  std::vector<double> without_us;
  for (std::size_t i = 0; i < in_turn_us.size(); ++i) {
    if (i % 2 == 0) {
      without_us.push_back(in_turn_us[i]);
    } else {
      const double before_us = in_turn_us[i - 1], behind_us = in_turn_us[i + 1];
      const double us = in_turn_us[i] - (before_us + behind_us) / 2;
      found.turns.push_back({us, is_steady(before_us, behind_us, us)});
    }
  }
  found.without_us = median(std::move(without_us));
  return found;
}

Result<std::optional<LayerTimes>> time_layers(Sampler& sampler, const Layer& layer,
                                              std::span<const HotLoop* const> with) {
  std::vector<const HotLoop*> turns{&layer.without(), &layer.without()};
  for (const HotLoop* each : with) turns.insert(turns.end(), {each, &layer.without()});
  FATUNE_TRY(const auto times, sampler.time_in_turn(turns));
  if (!times) return std::optional<LayerTimes>{};
  std::vector<double> in_turn_us;
  for (const Micros time : *times) in_turn_us.push_back(time.value);
  return std::optional(layer_times(std::span(in_turn_us).subspan(1)));
}

Result<std::optional<LayerTurn>> steady_turn(const TakeLayerTurn& take) {
  auto turn = take();
  for (int tries = 1; tries < kTurnTries && turn && *turn && !(*turn)->steady; ++tries)
    turn = take();
  return turn;
}

std::string order_finding(std::span<const double> in_turn_us, std::span<const double> in_a_row_us,
                          std::uint64_t seed) {
  const Interval ratio = bootstrap_ratio_unpaired(in_turn_us, in_a_row_us, kResamples, seed);
  if (compare_interval(ratio, kSteadyLayer) == Verdict::kTie) return {};
  return fmt::format(
      "order: it takes {:.3f} to {:.3f} times as long in turn with others as behind itself",
      ratio.low, ratio.high);
}

}  // namespace fatune
