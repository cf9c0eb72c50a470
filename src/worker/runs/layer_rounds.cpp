// layer_rounds.cpp: Settles the GPU's speed, takes steady turns, and tests if their order matters.
#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/results/statistics.hpp"
#include "worker/runs/runs.hpp"
#include "worker/timing/layer.hpp"

namespace fatune {
namespace {

// Measured: under layers alone an H200 needs this long until its launch times settle
// (docs/measuring.md, "In a layer").
constexpr Micros kSettleTime{500'000};
constexpr int kLayerTries = 3;                           // rounds tried for one that is kept
constexpr double kReplaysWithout = 2, kReplaysWith = 1;  // replays of a turn, about
constexpr double kSettlingReplays = 4;
constexpr std::size_t kOrderReplays = kLeastSamples;

class LayerRounds {
 public:
  explicit LayerRounds(Contestants& contestants)
      : all_(contestants), rounds_(contestants.affordable_rounds(time_of_one())) {}

  /// Times in a layer are differences. If the layer without attention moved during a turn, the turn
  /// is noise and is repeated. If repeating does not help, the round is discarded for all.
  Status run(const std::vector<std::vector<std::size_t>>& orders, const PhaseNote& note) {
    note("final, in a layer");
    FATUNE_TRY_STATUS(settle());
    int tried = 0, steady = 0;
    for (; steady < rounds_ && tried < kLayerTries * rounds_; ++tried) {
      if (tried % kRoundsBetweenNotes == 0)
        note(fmt::format("final, in a layer {}/{}", steady, rounds_));
      const auto& order = orders[static_cast<std::size_t>(tried) % orders.size()];
      FATUNE_TRY(const bool kept, run_round(order, steady));
      steady += kept;
    }
    all_.layer_note += fmt::format("; {} of {} rounds steady", steady, tried);
    if (!without_us_.empty())
      all_.layer_note += fmt::format(", {} without in them", describe(Micros(median(without_us_))));
    return {};
  }

 private:
  using Round = std::vector<std::pair<std::size_t, double>>;  ///< contestants and microseconds

  /// Assumes that replays of programs that time themselves are as long as our own.
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
      FATUNE_TRY(const LayerTimes times, take_turns(loops));
      spent = spent +
              Micros(kSettlingReplays * times.without_us) * static_cast<double>(loops[0]->launches);
    }
    without_us_.clear();
    return {};
  }

  Result<LayerTimes> take_turns(std::span<const HotLoop* const> loops) {
    auto times = all_.finished(time_layers(all_.sampler(), *all_.layer, loops));
    if (times) without_us_.push_back(times->without_us);
    return times;
  }
  /// Empty if it is not timed in a layer.
  Result<std::optional<LayerTurn>> turn(const TimedProgram& timed) {
    if (SelfTimed* const timer = timed.program->self_timed()) return timer->take_layer_turn();
    if (!timed.in_layer) return std::optional<LayerTurn>{};
    const HotLoop* const loops[] = {&*timed.in_layer};
    FATUNE_TRY(const LayerTimes times, take_turns(loops));
    return std::optional(times.turns.front());
  }

  /// Repeats one contestant's turn until it is steady. False if it never was.
  Result<bool> take_alone(std::size_t i, Round& found) {
    const auto taken = steady_turn([&] { return turn(*all_.programs[i]); });
    if (!taken) {
      FATUNE_TRY_STATUS(all_.give_up(i, taken.error()));
      return true;
    }
    if (!*taken) return true;
    found.emplace_back(i, (*taken)->us);
    return (*taken)->steady;
  }

  /// Takes the turns of this process in one queue, where two turns share each neighbour. Turns that
  /// were not steady are taken alone, and all of them if one failed.
  Result<bool> take_queue(std::vector<std::size_t>& queue, Round& found) {
    if (queue.empty()) return true;
    std::vector<const HotLoop*> loops;
    for (const std::size_t i : queue) loops.push_back(&*all_.programs[i]->in_layer);
    const auto times = take_turns(loops);
    bool steady = true;
    for (std::size_t at = 0; at < queue.size() && steady; ++at) {
      if (times && times->turns[at].steady) {
        found.emplace_back(queue[at], times->turns[at].us);
      } else {
        FATUNE_TRY(steady, take_alone(queue[at], found));
      }
    }
    queue.clear();
    return steady;
  }

  /// False if the round is discarded.
  Result<bool> run_round(const std::vector<std::size_t>& order, int round) {
    Round found;
    std::vector<std::size_t> queue;
    for (const std::size_t i : order) {
      if (!all_.takes_turn(i, round, rounds_)) continue;
      if (all_.programs[i]->in_layer) {
        queue.push_back(i);
        continue;
      }
      FATUNE_TRY(const bool queued, take_queue(queue, found));
      if (!queued) return false;
      FATUNE_TRY(const bool alone, take_alone(i, found));
      if (!alone) return false;
    }
    FATUNE_TRY(const bool steady, take_queue(queue, found));
    if (!steady) return false;
    if (all_.watch.look()) {
      all_.watch.count_discarded(1);
      return false;
    }
    for (const auto& [i, us] : found) all_.rows[i].in_layer_us.push_back(us);
    return true;
  }

  Contestants& all_;
  int rounds_;
  std::vector<double> without_us_;  ///< times of a layer since it settled, by turn
};

/// The two fastest contestants in a layer among those that are right.
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
                        const std::vector<std::vector<std::size_t>>& orders,
                        const PhaseNote& note) {
  return contestants.layer == nullptr ? Status() : LayerRounds(contestants).run(orders, note);
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
