// rounds.cpp - contestants to their times in every round: plain, of their own launches, cold, and
// in a layer.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/results/statistics.hpp"
#include "worker/device/device_problem.hpp"
#include "worker/device/gates.hpp"
#include "worker/device/loaded_program.hpp"
#include "worker/timing/layer.hpp"

namespace fatune {
namespace {

constexpr int kRoundRetries = 5;  // repeats of a round in which the GPU protected itself
constexpr int kRoundsBetweenNotes = 4;
// Chosen: launches longer than this are measured cold once a round instead of several times.
constexpr double kSlowUs = 1'000;
// Chosen: above this a cold cache does not change the time; one launch is both hot and cold.
constexpr double kLongUs = 20'000;
// Chosen: launches longer than this take part in a few rounds only.
constexpr double kVerySlowUs = 50'000;
constexpr int kFewTurns = 10;  // as many as an interval needs

constexpr int kLayerReplays = 5;
constexpr std::size_t kOrderReplays = kLeastSamples;

/// A program ready to take its turn in every round; one that times itself has no graphs.
struct TimedProgram {
  OpenProgram program;
  HotLoop loop;
  std::optional<HotLoop> plain{};     ///< where loop has launches that are not plain
  std::optional<HotLoop> in_layer{};  ///< attention in every layer
  Micros each{0};
};

/// The layer without attention in a round.
struct LayerRound {
  double without_us = 0;
  bool steady = true;
};
/// Of its times, in order: whether the later half agrees with the earlier one.
LayerRound steadiness(const std::vector<double>& without_us) {
  const auto middle = without_us.begin() + static_cast<std::ptrdiff_t>(without_us.size() / 2);
  if (middle == without_us.begin()) return {median(without_us), true};
  const double before = median({without_us.begin(), middle});
  const double after = median({middle, without_us.end()});
  return {median(without_us), std::abs(after / before - 1) <= kSteadyLayer};
}

/// The rounds of one order. A contestant of our own that fails here, after it passed every gate, is
/// an error; an implementation from elsewhere gets a failed row, and the rest goes on.
class Rounds {
 public:
  Rounds(DeviceSession& session, DeviceProblem& problem, const RoundsOrder& order)
      : session_(session),
        problem_(problem),
        order_(order),
        watch_(session.telemetry),
        programs_(order.contestants.size()),
        rows_(order.contestants.size()),
        in_layer_(order.contestants.size()) {}

  Status open() {
    open_layer();
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      if (auto opened = open(order_.contestants[i])) {
        SelfTimed* const timer = opened->program->self_timed();
        rows_[i].hot_launches = timer != nullptr ? timer->hot_launches() : opened->loop.launches;
        programs_[i] = *std::move(opened);
      } else {
        FATUNE_TRY_STATUS(give_up(i, opened.error()));
      }
    }
    note_edges();
    return {};
  }

  Status run(const PhaseNote& note) {
    const auto rounds = shuffled_rounds(programs_.size(), order_.rounds, order_.seed);
    // The first round warms up: clocks, caches, and the driver's own first-launch work.
    if (!rounds.empty()) FATUNE_TRY_STATUS(run_round(rounds.front(), -1));
    for (std::size_t round = 0; round < rounds.size(); ++round) {
      if (round % kRoundsBetweenNotes == 0) note(fmt::format("final {}/{}", round, rounds.size()));
      FATUNE_TRY_STATUS(run_round(rounds[round], static_cast<int>(round)));
    }
    keep_steady_rounds();
    if (order_.verify) FATUNE_TRY_STATUS(check_outputs());
    return test_order();
  }

  RoundsReply reply() {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      rows_[i].conditions = watch_.conditions();
      if (programs_[i]) rows_[i].detail = programs_[i]->program->detail();
    }
    return {std::move(rows_), layer_note_};
  }

 private:
  struct Round {
    std::vector<std::optional<TurnTimes>> values;  ///< by contestant
    LayerRound layer;
  };

  /// Without a layer there are no times in one, and a note says why.
  void open_layer() {
    if (!order_.in_layer) return;
    auto layer = Layer::make(session_.context, session_.stream.raw(), problem_.problem(),
                             session_.facts.l2_bytes);
    auto without = layer ? (*layer)->loop_without(*session_.sampler) : layer.error();
    if (!without) {
      layer_note_ = "no times in a layer: " + without.error().message;
      return;
    }
    layer_ = *std::move(layer);
    without_ = *std::move(without);
    const LayerPlan& plan = layer_->plan();
    layer_note_ = fmt::format("{} layers of {} tokens, hidden size {}{}", plan.layers, plan.tokens,
                              plan.hidden, plan.cached_keys ? ", keys and values cached" : "");
  }

  /// Of the graph with the most dependent launches.
  void note_edges() {
    std::optional<gpu::GraphEdges> most;
    for (const auto& timed : programs_) {
      if (!timed || !timed->in_layer || !timed->in_layer->edges) continue;
      if (!most || timed->in_layer->edges->programmatic > most->programmatic)
        most = timed->in_layer->edges;
    }
    if (!most) return;
    layer_note_ +=
        fmt::format("; edges: {}, of them programmatic {}", most->all, most->programmatic);
  }

  Result<Micros> finished(const Result<MaybeTime>& time) const {
    if (!time) return Error(time.error());
    if (!*time) return device_error(hang_failure(problem_.kernel_limit()).reason);
    return **time;
  }

  Result<TimedProgram> open(const Program& program) {
    TimedProgram opened;
    FATUNE_TRY(opened.program, OpenProgram::open(session_, problem_, program));
    if (opened.program->self_timed() != nullptr) return opened;
    const QueueWork work = [&] { return opened.program->queue(); };
    FATUNE_TRY(opened.each, finished(session_.sampler->estimate(work)));
    FATUNE_TRY(opened.loop, session_.sampler->make_loop(work, opened.each));
    if (opened.program->begins_early()) {
      const QueueWork plainly = [&] { return opened.program->queue_plainly(); };
      FATUNE_TRY(opened.plain, session_.sampler->make_loop(plainly, opened.each));
    }
    if (layer_) {
      FATUNE_TRY(opened.in_layer, layer_->loop_with(*session_.sampler, *opened.program));
      FATUNE_TRY_STATUS(opened.program->bind(problem_.addresses(problem_.sets().front())));
    }
    return opened;
  }

  bool takes_turn(const TimedProgram& timed, int round) const {
    if (SelfTimed* const timer = timed.program->self_timed())
      return timer->takes_turn(round, order_.rounds);
    return timed.each.value < kVerySlowUs || round % std::max(1, order_.rounds / kFewTurns) == 0;
  }

  /// A replay that warms up, one that counts, then cold launches, of which the median counts.
  Result<TurnTimes> turn(const TimedProgram& timed, int cold_launches) {
    if (SelfTimed* const timer = timed.program->self_timed())
      return timer->take_turn(cold_launches);
    Sampler& sampler = *session_.sampler;
    const QueueWork work = [&] { return timed.program->queue(); };
    const double each_us = timed.each.value;
    if (each_us < kLongUs) {
      // The contestant before left the cache empty of this one's data, code and graph. Not waited
      // for: while it runs, the replay that counts is queued, and no launch latency falls between
      // its events.
      FATUNE_TRY_STATUS(gpu::launch(timed.loop.graph, session_.stream.raw()));
    }
    TurnTimes times;
    FATUNE_TRY(const Micros hot, finished(sampler.time_loop(timed.loop)));
    times.hot_us = hot.value;
    if (timed.plain) {
      FATUNE_TRY(times.plain_us, warm_time(*timed.plain));
    }
    if (timed.in_layer) {
      FATUNE_TRY(times.in_layer_us, warm_time(*timed.in_layer));
    }
    if (each_us >= kLongUs) {
      times.cold_us = hot.value;
      return times;
    }
    std::vector<double> cold_us;
    for (int i = 0; i < (each_us >= kSlowUs ? 1 : cold_launches); ++i) {
      FATUNE_TRY(const Micros cold, finished(sampler.time_cold(work)));
      cold_us.push_back(cold.value);
    }
    times.cold_us = median(std::move(cold_us));
    return times;
  }

  /// The median of a few replays behind another: what is to be a difference must be steady.
  Result<double> warm_time(const HotLoop& loop) {
    std::vector<double> replays_us;
    for (int i = 0; i <= kLayerReplays; ++i) {
      FATUNE_TRY(const Micros time, finished(session_.sampler->time_loop(loop)));
      if (time.value * static_cast<double>(loop.launches) > kLongUs) return time.value;
      if (i > 0) replays_us.push_back(time.value);
    }
    return median(std::move(replays_us));
  }

  Status give_up(std::size_t i, const Error& error) {
    if (!order_.contestants[i].outside) return Error(error);
    const Failure failure = failure_of(error, session_.stream.raw());
    if (failure.fatal) return Error(error);
    programs_[i].reset();
    record_failure(failure, rows_[i]);
    return {};
  }

  /// Round -1 warms up: one cold launch, and only those that are always there.
  Result<Round> measure(const std::vector<std::size_t>& order, int round) {
    Round measured{std::vector<std::optional<TurnTimes>>(programs_.size()), {}};
    auto& values = measured.values;
    const bool warming = round < 0;
    std::vector<double> without_us;  // between any two turns
    const auto time_without = [&]() -> Status {
      if (!layer_) return {};
      FATUNE_TRY(const double us, warm_time(without_));
      without_us.push_back(us);
      return {};
    };
    FATUNE_TRY_STATUS(time_without());
    for (const std::size_t i : order) {
      if (!programs_[i] || !takes_turn(*programs_[i], warming ? 1 : round)) continue;
      auto times = turn(*programs_[i], warming ? 1 : order_.launches_per_round);
      if (!times) {
        FATUNE_TRY_STATUS(give_up(i, times.error()));
        continue;
      }
      values[i] = *times;
      if (!programs_[i]->in_layer) continue;
      FATUNE_TRY_STATUS(time_without());
      *values[i]->in_layer_us -= (without_us.end()[-1] + without_us.end()[-2]) / 2;
    }
    if (layer_) measured.layer = steadiness(without_us);
    return measured;
  }

  /// Repeated while the GPU is throttled.
  Status run_round(const std::vector<std::size_t>& order, int round) {
    for (int attempt = 0;; ++attempt) {
      FATUNE_TRY(const Round measured, measure(order, round));
      if (watch_.look() && attempt < kRoundRetries) {
        watch_.count_discarded(1);
        continue;
      }
      if (round < 0) return {};
      layer_rounds_.push_back(measured.layer);
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (!measured.values[i]) continue;
        const TurnTimes& times = *measured.values[i];
        rows_[i].hot_us.push_back(times.hot_us);
        rows_[i].plain_us.push_back(times.plain_us.value_or(times.hot_us));
        if (times.cold_us) rows_[i].cold_us.push_back(*times.cold_us);
        if (times.in_layer_us)
          in_layer_[i].push_back({layer_rounds_.size() - 1, *times.in_layer_us});
      }
      return {};
    }
  }

  /// Times in a layer are differences: those of rounds in which what is subtracted moved are noise.
  void keep_steady_rounds() {
    if (!layer_) return;
    std::vector<double> without_us;
    std::size_t kept = 0;
    for (const LayerRound& round : layer_rounds_) {
      without_us.push_back(round.without_us);
      kept += round.steady;
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      for (const auto& [round, us] : in_layer_[i]) {
        if (layer_rounds_[round].steady) rows_[i].in_layer_us.push_back(us);
      }
    }
    layer_note_ += fmt::format("; {} a layer without attention; {} of {} rounds steady",
                               describe(Micros(median(without_us))), kept, layer_rounds_.size());
  }

  /// What the timed graphs leave must still be right. Of a contestant in a process of its own only
  /// the times are judged.
  MaybeFailure check_timed(const TimedProgram& timed, const RoundsRow& row, Verification& found) {
    TimedRun run{&timed.loop, std::nullopt, std::nullopt};
    if (!row.hot_us.empty()) run.hot = Micros(median(row.hot_us));
    if (!row.cold_us.empty()) run.cold = Micros(median(row.cold_us));
    if (timed.program->self_timed() != nullptr)
      return check_physics(floor_of(session_, problem_.problem()), run.hot, run.cold, found);
    GateKeeper gates(session_, problem_, *timed.program);
    MaybeFailure failure = gates.check_timed(run);
    if (!failure && timed.in_layer) failure = gates.check_in_layer(*layer_, *timed.in_layer);
    found = gates.verification();
    if (timed.in_layer && timed.in_layer->edges && timed.program->begins_early() &&
        timed.in_layer->edges->programmatic == 0) {
      found.not_run.push_back(std::string(kInLayerGate) +
                              ": launched to begin early, which no edge of its graph says");
    }
    return failure;
  }

  Status check_outputs() {
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      if (!programs_[i]) continue;
      Verification found;
      const MaybeFailure failure = check_timed(*programs_[i], rows_[i], found);
      rows_[i].gates = std::move(found.gates);
      rows_[i].not_run = std::move(found.not_run);
      if (!failure) continue;
      if (failure->fatal) return device_error(failure->reason);
      record_failure(*failure, rows_[i]);
    }
    return {};
  }

  /// The two that are fastest in a layer: A B A B must give the times of A A B B.
  Status test_order() {
    std::vector<std::size_t> leading;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const bool right = programs_[i] && rows_[i].outcome == Outcome::kMeasured;
      if (right && programs_[i]->in_layer && !rows_[i].in_layer_us.empty()) leading.push_back(i);
    }
    if (leading.size() < 2) return {};
    std::ranges::partial_sort(leading, leading.begin() + 2, {},
                              [&](std::size_t i) { return median(rows_[i].in_layer_us); });
    std::vector<double> in_turn[2], in_a_row[2];
    const auto replay = [&](std::size_t which, std::vector<double>* times_us) -> Status {
      const HotLoop& loop = *programs_[leading[which]]->in_layer;
      FATUNE_TRY(const Micros time, finished(session_.sampler->time_loop(loop)));
      times_us[which].push_back(time.value);
      return {};
    };
    for (std::size_t i = 0; i < 2 * kOrderReplays; ++i) FATUNE_TRY_STATUS(replay(i % 2, in_turn));
    for (std::size_t i = 0; i < 2 * kOrderReplays; ++i)
      FATUNE_TRY_STATUS(replay(i / kOrderReplays, in_a_row));
    bool agree = true;
    for (std::size_t which = 0; which < 2; ++which) {
      std::string finding = order_finding(in_turn[which], in_a_row[which], order_.seed);
      if (finding.empty()) continue;
      agree = false;
      rows_[leading[which]].not_run.push_back(std::move(finding));
    }
    layer_note_ += agree ? "; A B A B as A A B B" : "; A B A B not as A A B B";
    return {};
  }

  DeviceSession& session_;
  DeviceProblem& problem_;
  const RoundsOrder& order_;
  ConditionWatch watch_;
  std::vector<std::optional<TimedProgram>> programs_;  ///< by contestant; empty: it failed
  std::vector<RoundsRow> rows_;
  std::unique_ptr<Layer> layer_;  ///< null: no times in a layer
  HotLoop without_;
  std::string layer_note_;
  std::vector<LayerRound> layer_rounds_;
  struct InLayer {
    std::size_t round;
    double us;
  };
  std::vector<std::vector<InLayer>> in_layer_;  ///< by contestant
};

}  // namespace

Result<RoundsReply> run_rounds(DeviceSession& session, DeviceProblem& problem,
                               const RoundsOrder& order, const PhaseNote& note) {
  session.sampler->set_limit(problem.kernel_limit());
  Rounds rounds(session, problem, order);
  FATUNE_TRY_STATUS(rounds.open());
  FATUNE_TRY_STATUS(rounds.run(note));
  return rounds.reply();
}

}  // namespace fatune
