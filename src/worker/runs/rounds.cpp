// rounds.cpp: Times contestants round by round: hot, plain, cold and in a layer.
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/results/statistics.hpp"
#include "worker/gates/gates.hpp"
#include "worker/runs/runs.hpp"
#include "worker/timing/layer.hpp"

namespace fatune {
namespace {

constexpr int kRoundRetries = 5;  // repeats of a round in which the GPU throttled

/// Empty if there are no times, or if the median difference is lost in noise.
std::optional<Micros> median_of(const std::vector<double>& us) {
  const double found = us.empty() ? 0 : median(us);
  return found > 0 ? std::optional(Micros(found)) : std::nullopt;
}

class Rounds {
 public:
  explicit Rounds(Contestants& contestants) : all_(contestants) {}

  Status run(const PhaseNote& note) {
    const RoundsOrder& order = all_.order;
    const auto orders = shuffled_rounds(all_.size(), order.rounds, order.seed);
    FATUNE_TRY_STATUS(warm_up(orders.front()));
    for (int round = 0; round < rounds_; ++round) {
      if (round % kRoundsBetweenNotes == 0) note(fmt::format("final {}/{}", round, rounds_));
      FATUNE_TRY_STATUS(run_round(orders[static_cast<std::size_t>(round)], round));
    }
    FATUNE_TRY_STATUS(run_layer_rounds(all_, orders, note));
    if (order.verify) FATUNE_TRY_STATUS(check_outputs(note));
    test_own_order();
    return test_layer_order(all_);
  }

 private:
  using Round = std::vector<std::optional<TurnTimes>>;  ///< by contestant

  /// Runs a first round that warms up clocks, caches and the driver. Its time decides how many
  /// rounds follow.
  Status warm_up(const std::vector<std::size_t>& order) {
    rounds_ = all_.order.rounds;
    const auto began = std::chrono::steady_clock::now();
    FATUNE_TRY_STATUS(run_round(order, -1));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    rounds_ = all_.affordable_rounds(Seconds(took.count()));
    return {};
  }

  /// Takes a replay of each kind that counts, each behind one that warms up, because the contestant
  /// before has emptied the cache. They are queued together, so that no launch latency falls
  /// between the events.
  Status time_warm(const TimedProgram& timed, TurnTimes& times) {
    std::vector<const HotLoop*> loops;
    if (timed.each.value < kLongUs) loops.push_back(&timed.loop);
    loops.push_back(&timed.loop);
    if (timed.plain) loops.insert(loops.end(), {&*timed.plain, &*timed.plain});
    FATUNE_TRY(const auto found, all_.finished(all_.sampler().time_in_turn(loops)));
    if (timed.plain) times.plain_us = found.back().value;
    times.hot_us = found[found.size() - (timed.plain ? 3 : 1)].value;
    return {};
  }

  /// Times cold launches, of which the median counts.
  Status time_cold(const TimedProgram& timed, int launches, TurnTimes& times) {
    const QueueWork work = [&] { return timed.program->queue(); };
    std::vector<double> cold_us;
    for (int i = 0; i < (timed.each.value >= kSlowUs ? 1 : launches); ++i) {
      FATUNE_TRY(const Micros cold, all_.finished(all_.sampler().time_cold(work)));
      cold_us.push_back(cold.value);
    }
    times.cold_us = median(std::move(cold_us));
    return {};
  }

  Result<TurnTimes> turn(const TimedProgram& timed, int cold_launches) {
    if (SelfTimed* const timer = timed.program->self_timed())
      return timer->take_turn(cold_launches);
    FATUNE_TRY_STATUS(all_.problem.fill_read_outputs(all_.problem.sets().front()));
    TurnTimes times;
    FATUNE_TRY_STATUS(time_warm(timed, times));
    if (timed.each.value >= kLongUs) {
      times.cold_us = times.hot_us;
    } else {
      FATUNE_TRY_STATUS(time_cold(timed, cold_launches, times));
    }
    return times;
  }

  /// Takes the turns of a round. Round -1 warms up with one cold launch each.
  Result<Round> measure(const std::vector<std::size_t>& order, int round) {
    Round measured(all_.programs.size());
    const bool warming = round < 0;
    for (const std::size_t i : order) {
      if (!all_.takes_turn(i, warming ? 1 : round, rounds_)) continue;
      auto times = turn(*all_.programs[i], warming ? 1 : all_.order.launches_per_round);
      if (times) {
        measured[i] = *times;
      } else {
        FATUNE_TRY_STATUS(all_.give_up(i, times.error()));
      }
    }
    return measured;
  }

  /// Runs a round, and repeats it while the GPU is throttled.
  Status run_round(const std::vector<std::size_t>& order, int round) {
    for (int attempt = 0;; ++attempt) {
      FATUNE_TRY(const Round measured, measure(order, round));
      if (all_.watch.look() && attempt < kRoundRetries) {
        all_.watch.count_discarded(1);
        continue;
      }
      if (round < 0) return {};
      for (std::size_t i = 0; i < all_.rows.size(); ++i) {
        if (measured[i]) keep(*measured[i], all_.rows[i]);
      }
      return {};
    }
  }

  static void keep(const TurnTimes& times, RoundsRow& row) {
    row.hot_us.push_back(times.hot_us);
    row.plain_us.push_back(times.plain_us.value_or(times.hot_us));
    if (times.cold_us) row.cold_us.push_back(*times.cold_us);
  }

  /// Asks the gates of timed launches. For a contestant in a process of its own only the times are
  /// judged.
  MaybeFailure check_timed(const TimedProgram& timed, const RoundsRow& row, Verification& found) {
    const TimedRun run{.loop = &timed.loop,
                       .plain_loop = timed.plain ? &*timed.plain : nullptr,
                       .hot = median_of(row.hot_us),
                       .plain = median_of(row.plain_us),
                       .cold = median_of(row.cold_us),
                       .in_layer = median_of(row.in_layer_us)};
    if (timed.program->self_timed() != nullptr) {
      const PhysicsFloor floor = floor_of(all_.session, all_.problem.problem());
      return take_report(GateId::kPhysics, check_physics(floor, run), found);
    }
    GateContext gates(all_.session, all_.problem, *timed.program);
    MaybeFailure failure = verify_timed(gates, run);
    if (!failure && timed.in_layer)
      failure = verify_in_layer(gates, {all_.layer, &*timed.in_layer, true});
    found = gates.verification;
    if (timed.in_layer && timed.in_layer->edges && timed.program->begins_early() &&
        timed.in_layer->edges->programmatic == 0) {
      found.not_run.push_back(fmt::format(
          "{}: launched to begin early, which no edge of its graph says", name(GateId::kInLayer)));
    }
    return failure;
  }

  /// Judges each contestant by its own launches, after memory that others changed is mended.
  Status check_outputs(const PhaseNote& note) {
    FATUNE_TRY_STATUS(all_.problem.mend());
    for (std::size_t i = 0; i < all_.programs.size(); ++i) {
      if (!all_.programs[i]) continue;
      note(fmt::format("final, verifying {}/{}", i, all_.programs.size()));
      Verification found;
      const MaybeFailure failure = check_timed(*all_.programs[i], all_.rows[i], found);
      all_.rows[i].gates = std::move(found.gates);
      all_.rows[i].not_run = std::move(found.not_run);
      if (!failure) continue;
      if (failure->fatal) return device_error(failure->reason);
      record_failure(*failure, all_.rows[i]);
      FATUNE_TRY_STATUS(all_.problem.mend());
    }
    return {};
  }

  /// Notes kernels that begin early and take another time behind their own copies than behind plain
  /// launches.
  void test_own_order() {
    for (std::size_t i = 0; i < all_.rows.size(); ++i) {
      RoundsRow& row = all_.rows[i];
      if (!all_.programs[i] || !all_.programs[i]->plain || row.hot_us.size() < kLeastSamples)
        continue;
      if (std::string found = order_finding(row.plain_us, row.hot_us, all_.order.seed);
          !found.empty())
        row.not_run.push_back(std::move(found));
    }
  }

  Contestants& all_;
  int rounds_ = 0;
};

}  // namespace

Result<RoundsReply> run_rounds(DeviceSession& session, DeviceProblem& problem,
                               const RoundsOrder& order, const PhaseNote& note) {
  session.sampler->set_limit(problem.kernel_limit());
  Contestants contestants(session, problem, order);
  FATUNE_TRY_STATUS(contestants.open());
  const int others_before = other_processes(session.telemetry);
  FATUNE_TRY_STATUS(Rounds(contestants).run(note));
  Conditions conditions = contestants.watch.conditions();
  conditions.other_processes = std::max(others_before, other_processes(session.telemetry));
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    contestants.rows[i].conditions = conditions;
    const auto& timed = contestants.programs[i];
    if (timed) contestants.rows[i].detail = timed->program->detail();
  }
  return RoundsReply{std::move(contestants.rows), std::move(contestants.layer_note)};
}

}  // namespace fatune
