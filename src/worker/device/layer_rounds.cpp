// layer_rounds.cpp - settles the GPU's speed, takes steady turns, and tests whether their order
// matters.
#include "worker/device/layer_rounds.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "model/results/statistics.hpp"
#include "worker/timing/layer_time.hpp"

namespace fatune {
namespace {

// Chosen: under the load of layers an H200 needs this long to settle on a speed 6 % lower, as in a
// program that goes on; measured.
constexpr Micros kSettleTime{500'000};
constexpr int kLayerTries = 3;                           // rounds tried for one that is kept
constexpr double kReplaysWithout = 4, kReplaysWith = 1;  // of a turn
constexpr std::size_t kOrderReplays = kLeastSamples;

class LayerRounds {
 public:
  explicit LayerRounds(Contestants& contestants)
      : all_(contestants), rounds_(contestants.affordable_rounds(time_of_one())) {}

  /// Times in a layer are differences, so that a turn in which what is subtracted moved is noise:
  /// it is repeated, and where that does not help the round is thrown away for all.
  Status run(const std::vector<std::vector<std::size_t>>& orders) {
    FATUNE_TRY_STATUS(settle());
    int tried = 0, steady = 0;
    for (; steady < rounds_ && tried < kLayerTries * rounds_; ++tried) {
      const auto& order = orders[static_cast<std::size_t>(tried) % orders.size()];
      FATUNE_TRY(const bool kept, run_round(order, steady));
      steady += kept;
    }
    all_.layer_note += fmt::format("; {} of {} rounds steady", steady, tried);
    return {};
  }

 private:
  /// Replays of those that time themselves are taken to be as long as our own.
  Seconds time_of_one() const {
    std::int64_t launches = 1;
    for (const auto& timed : all_.programs) {
      if (timed && timed->in_layer) launches = std::max(launches, timed->in_layer->launches);
    }
    Micros time{0};
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const std::vector<double>& hot_us = all_.rows[i].hot_us;
      if (!all_.takes_turn(i, 1, all_.order.rounds) || hot_us.empty()) continue;
      const Micros turn = all_.layer->without_time() * (kReplaysWithout + kReplaysWith) +
                          Micros(median(hot_us)) * kReplaysWith;
      time = time + turn * static_cast<double>(launches);
    }
    return to_seconds(time);
  }

  Status settle() {
    const HotLoop* const loops[] = {&all_.layer->without()};
    for (Micros spent{0}; spent < kSettleTime;) {
      FATUNE_TRY(const LayerTimes times,
                 all_.finished(time_layers(all_.sampler(), *all_.layer, loops)));
      spent = spent +
              Micros(kReplaysWithout * times.without_us) * static_cast<double>(loops[0]->launches);
    }
    return {};
  }

  /// Empty if it is not timed in a layer.
  Result<std::optional<LayerTurn>> turn(const TimedProgram& timed) {
    if (SelfTimed* const timer = timed.program->self_timed()) return timer->take_layer_turn();
    if (!timed.in_layer) return std::optional<LayerTurn>{};
    const HotLoop* const loops[] = {&*timed.in_layer};
    FATUNE_TRY(const LayerTimes times,
               all_.finished(time_layers(all_.sampler(), *all_.layer, loops)));
    return std::optional(LayerTurn{times.attention_us.front(), times.steady});
  }

  /// False: thrown away.
  Result<bool> run_round(const std::vector<std::size_t>& order, int round) {
    std::vector<std::pair<std::size_t, double>> found;
    for (const std::size_t i : order) {
      if (!all_.takes_turn(i, round, rounds_)) continue;
      const auto taken = steady_turn([&] { return turn(*all_.programs[i]); });
      if (!taken) {
        FATUNE_TRY_STATUS(all_.give_up(i, taken.error()));
        continue;
      }
      if (!*taken) continue;
      if (!(*taken)->steady) return false;
      found.emplace_back(i, (*taken)->us);
    }
    if (all_.watch.look()) return false;
    for (const auto& [i, us] : found) all_.rows[i].in_layer_us.push_back(us);
    return true;
  }

  Contestants& all_;
  int rounds_;
};

/// Those that are right and have times in a layer, the two fastest first.
std::vector<std::size_t> leading_two(const Contestants& all) {
  std::vector<std::size_t> leading;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool right = all.programs[i] && all.rows[i].outcome == Outcome::kMeasured;
    if (right && all.programs[i]->in_layer && !all.rows[i].in_layer_us.empty())
      leading.push_back(i);
  }
  std::ranges::sort(leading, {}, [&](std::size_t i) { return median(all.rows[i].in_layer_us); });
  leading.resize(std::min<std::size_t>(2, leading.size()));
  return leading;
}

}  // namespace

Status run_layer_rounds(Contestants& contestants,
                        const std::vector<std::vector<std::size_t>>& orders) {
  return contestants.layer == nullptr ? Status() : LayerRounds(contestants).run(orders);
}

Status test_layer_order(Contestants& contestants) {
  const std::vector<std::size_t> leading = leading_two(contestants);
  if (leading.size() < 2) return {};
  std::vector<double> in_turn[2], in_a_row[2];
  const auto replay = [&](std::size_t which, std::vector<double>* times_us) -> Status {
    const HotLoop& loop = *contestants.programs[leading[which]]->in_layer;
    FATUNE_TRY(const Micros time, contestants.finished(contestants.sampler().time_loop(loop)));
    times_us[which].push_back(time.value);
    return {};
  };
  for (std::size_t i = 0; i < 2 * kOrderReplays; ++i) FATUNE_TRY_STATUS(replay(i % 2, in_turn));
  for (std::size_t i = 0; i < 2 * kOrderReplays; ++i)
    FATUNE_TRY_STATUS(replay(i / kOrderReplays, in_a_row));
  bool agree = true;
  for (std::size_t which = 0; which < 2; ++which) {
    std::string finding = order_finding(in_turn[which], in_a_row[which], contestants.order.seed);
    if (finding.empty()) continue;
    agree = false;
    contestants.rows[leading[which]].not_run.push_back(std::move(finding));
  }
  contestants.layer_note += agree ? "; A B A B as A A B B" : "; A B A B not as A A B B";
  return {};
}

}  // namespace fatune
