// rounds.cpp - contestants to their times in every round: plain, of their own launches, cold, and
// in a layer.
#include <algorithm>
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
#include "worker/timing/layer_time.hpp"

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

// Chosen: under the load of layers an H200 needs this long to settle on a speed 6 % lower, as in a
// program that goes on; measured.
constexpr Micros kSettleTime{500'000};
constexpr std::size_t kLayerTries = 2;  // rounds tried for one that is kept
constexpr std::size_t kOrderReplays = kLeastSamples;

/// A program ready to take its turn in every round; one that times itself has no graphs.
struct TimedProgram {
  OpenProgram program;
  HotLoop loop;
  std::optional<HotLoop> plain{};     ///< where loop has launches that are not plain
  std::optional<HotLoop> in_layer{};  ///< attention in every layer
  Micros each{0};
};

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
        rows_(order.contestants.size()) {}

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
    if (layer_ != nullptr) {
      note("final, in a layer");
      FATUNE_TRY_STATUS(run_layers(rounds));
    }
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
  using Round = std::vector<std::optional<TurnTimes>>;  ///< by contestant

  /// Without a layer there are no times in one, and a note says why.
  void open_layer() {
    if (!order_.in_layer) return;
    const auto layer = problem_.layer();
    if (!layer) {
      layer_note_ = "no times in a layer: " + layer.error().message;
      return;
    }
    layer_ = *layer;
    const LayerPlan& plan = layer_->plan();
    layer_note_ =
        fmt::format("{} layers of {} tokens, hidden size {}{}; {} without attention", plan.layers,
                    plan.tokens, plan.hidden, plan.cached_keys ? ", keys and values cached" : "",
                    describe(layer_->without_time()));
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

  template <typename Times>
  Result<Times> finished(const Result<std::optional<Times>>& times) const {
    if (!times) return Error(times.error());
    if (!*times) return device_error(hang_failure(problem_.kernel_limit()).reason);
    return **times;
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

  bool takes_turn(const TimedProgram& timed, int round, std::int64_t launches = 1) const {
    if (SelfTimed* const timer = timed.program->self_timed())
      return timer->takes_turn(round, order_.rounds);
    return timed.each.value * static_cast<double>(launches) < kVerySlowUs ||
           round % std::max(1, order_.rounds / kFewTurns) == 0;
  }

  /// A replay of each kind that counts, behind one that warms up: the contestant before left the
  /// cache empty of this one's data, code and graph. Queued together, so that no launch latency
  /// falls between the events.
  Status time_warm(const TimedProgram& timed, TurnTimes& times) {
    std::vector<const HotLoop*> loops;
    if (timed.each.value < kLongUs) loops.push_back(&timed.loop);
    loops.push_back(&timed.loop);
    if (timed.plain) loops.insert(loops.end(), {&*timed.plain, &*timed.plain});
    FATUNE_TRY(const auto found, finished(session_.sampler->time_in_turn(loops)));
    if (timed.plain) times.plain_us = found.back().value;
    times.hot_us = found[found.size() - (timed.plain ? 3 : 1)].value;
    return {};
  }

  /// Cold launches, of which the median counts.
  Status time_cold(const TimedProgram& timed, int launches, TurnTimes& times) {
    const QueueWork work = [&] { return timed.program->queue(); };
    std::vector<double> cold_us;
    for (int i = 0; i < (timed.each.value >= kSlowUs ? 1 : launches); ++i) {
      FATUNE_TRY(const Micros cold, finished(session_.sampler->time_cold(work)));
      cold_us.push_back(cold.value);
    }
    times.cold_us = median(std::move(cold_us));
    return {};
  }

  Result<TurnTimes> turn(const TimedProgram& timed, int cold_launches) {
    if (SelfTimed* const timer = timed.program->self_timed())
      return timer->take_turn(cold_launches);
    TurnTimes times;
    FATUNE_TRY_STATUS(time_warm(timed, times));
    if (timed.each.value >= kLongUs) {
      times.cold_us = times.hot_us;
    } else {
      FATUNE_TRY_STATUS(time_cold(timed, cold_launches, times));
    }
    return times;
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
    Round measured(programs_.size());
    const bool warming = round < 0;
    for (const std::size_t i : order) {
      if (!programs_[i] || !takes_turn(*programs_[i], warming ? 1 : round)) continue;
      auto times = turn(*programs_[i], warming ? 1 : order_.launches_per_round);
      if (times) {
        measured[i] = *times;
      } else {
        FATUNE_TRY_STATUS(give_up(i, times.error()));
      }
    }
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
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (measured[i]) keep(*measured[i], rows_[i]);
      }
      return {};
    }
  }

  static void keep(const TurnTimes& times, RoundsRow& row) {
    row.hot_us.push_back(times.hot_us);
    row.plain_us.push_back(times.plain_us.value_or(times.hot_us));
    if (times.cold_us) row.cold_us.push_back(*times.cold_us);
  }

  /// Rounds of layers, apart from the others: a GPU that goes on from layer to layer, as in a
  /// program, settles on one speed. Times in a layer are differences, so that a turn in which what
  /// is subtracted moved is noise: it is repeated, and where that does not help the round is thrown
  /// away for all.
  Status run_layers(const std::vector<std::vector<std::size_t>>& rounds) {
    for (Micros spent{0}; spent < kSettleTime;) {
      const HotLoop* const loops[] = {&layer_->without()};
      FATUNE_TRY(const LayerTimes times, finished(time_layers(*session_.sampler, *layer_, loops)));
      spent = spent + Micros(4 * times.without_us) * static_cast<double>(loops[0]->launches);
    }
    std::size_t tried = 0;
    int steady = 0;
    for (; steady < order_.rounds && tried < kLayerTries * rounds.size(); ++tried) {
      FATUNE_TRY(const bool kept, run_layer_round(rounds[tried % rounds.size()], steady));
      steady += kept;
    }
    layer_note_ += fmt::format("; {} of {} rounds steady", steady, tried);
    return {};
  }

  /// Empty if it is not timed in a layer.
  Result<std::optional<LayerTurn>> layer_turn(const TimedProgram& timed) {
    if (SelfTimed* const timer = timed.program->self_timed()) return timer->take_layer_turn();
    if (!timed.in_layer) return std::optional<LayerTurn>{};
    const HotLoop* const loops[] = {&*timed.in_layer};
    FATUNE_TRY(const LayerTimes times, finished(time_layers(*session_.sampler, *layer_, loops)));
    return std::optional(LayerTurn{times.attention_us.front(), times.steady});
  }

  /// False: thrown away.
  Result<bool> run_layer_round(const std::vector<std::size_t>& order, int round) {
    std::vector<std::pair<std::size_t, double>> found;
    for (const std::size_t i : order) {
      const std::int64_t launches =
          programs_[i] && programs_[i]->in_layer ? programs_[i]->in_layer->launches : 1;
      if (!programs_[i] || !takes_turn(*programs_[i], round, launches)) continue;
      const auto turn = steady_turn([&] { return layer_turn(*programs_[i]); });
      if (!turn) {
        FATUNE_TRY_STATUS(give_up(i, turn.error()));
        continue;
      }
      if (!*turn) continue;
      if (!(*turn)->steady) return false;
      found.emplace_back(i, (*turn)->us);
    }
    if (watch_.look()) return false;
    for (const auto& [i, us] : found) rows_[i].in_layer_us.push_back(us);
    return true;
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

  /// Behind its own copies a kernel that begins early can take another time than behind plain
  /// launches: A A B B is not A B A B for it.
  void test_own_order() {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      RoundsRow& row = rows_[i];
      if (!programs_[i] || !programs_[i]->plain || row.hot_us.size() < kLeastSamples) continue;
      if (std::string found = order_finding(row.plain_us, row.hot_us, order_.seed); !found.empty())
        row.not_run.push_back(std::move(found));
    }
  }

  /// The two that are fastest in a layer: A B A B must give the times of A A B B.
  Status test_order() {
    test_own_order();
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
  Layer* layer_ = nullptr;  ///< null: no times in a layer
  std::string layer_note_;
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
