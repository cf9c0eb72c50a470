// candidate_run.cpp - loads, verifies and times one candidate; contestants to one hot and one cold
// time for every round.
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/results/statistics.hpp"
#include "worker/device/device_problem.hpp"
#include "worker/device/gates.hpp"
#include "worker/device/loaded_program.hpp"

namespace fatune {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::optional<Micros> micros(const std::optional<double>& value) {
  return value ? std::optional(Micros(*value)) : std::nullopt;
}

void merge(std::optional<Conditions>& all, const Conditions& more) {
  if (!all) {
    all = more;
    return;
  }
  all->sm_clock_mhz_min = std::min(all->sm_clock_mhz_min, more.sm_clock_mhz_min);
  all->sm_clock_mhz_max = std::max(all->sm_clock_mhz_max, more.sm_clock_mhz_max);
  all->memory_clock_mhz = std::max(all->memory_clock_mhz, more.memory_clock_mhz);
  all->temperature_c = std::max(all->temperature_c, more.temperature_c);
  all->power_w = std::max(all->power_w, more.power_w);
  all->throttle_reasons |= more.throttle_reasons;
  all->discarded_samples += more.discarded_samples;
}

MaybeFailure time_candidate(DeviceSession& session, DeviceProblem& problem, Executable& program,
                            const RunOrder& order, RunReply& reply, std::optional<HotLoop>& timed) {
  const CUstream stream = session.stream.raw();
  const auto prepare = [&]() -> Status {
    // The output is checked again afterwards: it must come from these launches, on these inputs.
    FATUNE_TRY_STATUS(program.bind(problem.addresses(problem.sets().front())));
    FATUNE_TRY_STATUS(fill_insides(problem.outputs(), kNanByte, stream));
    return gpu::reset_persisting_lines();
  };
  if (const Status ready = prepare(); !ready) return failure_of(ready.error(), stream);
  session.sampler->set_limit(problem.kernel_limit());
  const QueueWork work = [&] { return program.queue(); };
  const auto take = [&](const Result<Sampled>& sampled,
                        std::optional<Timing>& timing) -> MaybeFailure {
    if (!sampled) return failure_of(sampled.error(), stream);
    if (sampled->hung) return hang_failure(problem.kernel_limit());
    timing = sampled->timing;
    merge(reply.conditions, sampled->conditions);
    return std::nullopt;
  };
  if (order.hot) {
    auto sampled = session.sampler->hot(work, micros(order.best_hot_us));
    if (auto failure = take(sampled, reply.hot)) return failure;
    timed = std::move(sampled->loop);
    if (reply.hot->killed_early) return std::nullopt;
  }
  if (!order.cold) return std::nullopt;
  return take(session.sampler->cold(work, micros(order.best_cold_us)), reply.cold);
}

std::optional<Micros> median_of(const std::optional<Timing>& timing) {
  return timing ? std::optional(Micros(timing->median_us)) : std::nullopt;
}

MaybeFailure check_and_time(DeviceSession& session, DeviceProblem& problem, const RunOrder& order,
                            const PhaseNote& note, RunReply& reply) {
  const CUstream stream = session.stream.raw();
  auto program = OpenProgram::open(session, problem, order.program);
  if (!program) return failure_of(program.error(), stream);
  Executable& executable = **program;
  reply.detail = executable.detail();
  auto resources = executable.resources();
  if (!resources) return failure_of(resources.error(), stream);
  reply.resources = *std::move(resources);

  GateKeeper gates(session, problem, executable);
  const auto start = Clock::now();
  note("verifying");
  MaybeFailure failure = order.verify ? gates.verify() : gates.launch_only();
  reply.verify_s = seconds_since(start);
  reply.verification = gates.verification();
  if (failure || (!order.hot && !order.cold)) return failure;

  const auto timing_start = Clock::now();
  note("timing");
  std::optional<HotLoop> timed;
  failure = time_candidate(session, problem, executable, order, reply, timed);
  if (!failure && order.verify) {
    failure =
        gates.check_timed({timed ? &*timed : nullptr, median_of(reply.hot), median_of(reply.cold)});
    reply.verification = gates.verification();
  }
  reply.timing_s = seconds_since(timing_start);
  return failure;
}

constexpr int kRoundRetries = 5;  // repeats of a round in which the GPU protected itself
constexpr int kRoundsBetweenNotes = 4;
// Chosen: launches longer than this are measured cold once a round instead of several times.
constexpr double kSlowUs = 1'000;
// Chosen: above this a cold cache does not change the time; one launch is both hot and cold.
constexpr double kLongUs = 20'000;
// Chosen: launches longer than this take part in a few rounds only.
constexpr double kVerySlowUs = 50'000;
constexpr int kFewTurns = 10;  // as many as an interval needs

/// A program ready to take its turn in every round; one that times itself has no graph.
struct TimedProgram {
  OpenProgram program;
  HotLoop loop;
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
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      if (auto opened = open(order_.contestants[i])) {
        SelfTimed* const timer = opened->program->self_timed();
        rows_[i].hot_launches = timer != nullptr ? timer->hot_launches() : opened->loop.launches;
        programs_[i] = *std::move(opened);
      } else {
        FATUNE_TRY_STATUS(give_up(i, opened.error()));
      }
    }
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
    return order_.verify ? check_outputs() : Status();
  }

  RoundsReply reply() {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      rows_[i].conditions = watch_.conditions();
      if (programs_[i]) rows_[i].detail = programs_[i]->program->detail();
    }
    return {std::move(rows_)};
  }

 private:
  using Values = std::vector<std::optional<TurnTimes>>;

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
    FATUNE_TRY(const Micros hot, finished(sampler.time_loop(timed.loop)));
    if (each_us >= kLongUs) return TurnTimes{hot.value, hot.value};
    std::vector<double> cold_us;
    for (int i = 0; i < (each_us >= kSlowUs ? 1 : cold_launches); ++i) {
      FATUNE_TRY(const Micros cold, finished(sampler.time_cold(work)));
      cold_us.push_back(cold.value);
    }
    return TurnTimes{hot.value, median(std::move(cold_us))};
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
  Result<Values> measure(const std::vector<std::size_t>& order, int round) {
    Values values(programs_.size());
    const bool warming = round < 0;
    for (const std::size_t i : order) {
      if (!programs_[i] || !takes_turn(*programs_[i], warming ? 1 : round)) continue;
      auto times = turn(*programs_[i], warming ? 1 : order_.launches_per_round);
      if (times) {
        values[i] = *times;
      } else {
        FATUNE_TRY_STATUS(give_up(i, times.error()));
      }
    }
    return values;
  }

  /// Repeated while the GPU is throttled.
  Status run_round(const std::vector<std::size_t>& order, int round) {
    for (int attempt = 0;; ++attempt) {
      FATUNE_TRY(const Values values, measure(order, round));
      if (watch_.look() && attempt < kRoundRetries) {
        watch_.count_discarded(1);
        continue;
      }
      if (round < 0) return {};
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (!values[i]) continue;
        rows_[i].hot_us.push_back(values[i]->hot_us);
        if (values[i]->cold_us) rows_[i].cold_us.push_back(*values[i]->cold_us);
      }
      return {};
    }
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
    found = gates.verification();
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

  DeviceSession& session_;
  DeviceProblem& problem_;
  const RoundsOrder& order_;
  ConditionWatch watch_;
  std::vector<std::optional<TimedProgram>> programs_;  ///< by contestant; empty: it failed
  std::vector<RoundsRow> rows_;
};

}  // namespace

RunReply run_candidate(DeviceSession& session, DeviceProblem& problem, const RunOrder& order,
                       const PhaseNote& note) {
  RunReply reply;
  const MaybeFailure failure = check_and_time(session, problem, order, note, reply);
  if (failure) {
    record_failure(*failure, reply);
    reply.fatal = failure->fatal;
    reply.hot.reset();
    reply.cold.reset();
    if (reply.verification) reply.verification->passed = false;
    if (reply.fatal) return reply;
    // Memory that cannot be put back would spoil every candidate after this one.
    if (const Status restored = problem.restore(); !restored) reply.fatal = true;
    return reply;
  }
  for (const std::optional<Timing>& timing : {reply.hot, reply.cold}) {
    if (!timing || !timing->killed_early) continue;
    reply.outcome = Outcome::kPruned;
    reply.reason = fmt::format("given up after {} samples at {}: more than twice the best",
                               timing->samples, describe(Micros(timing->median_us)));
  }
  return reply;
}

Result<RoundsReply> run_rounds(DeviceSession& session, DeviceProblem& problem,
                               const RoundsOrder& order, const PhaseNote& note) {
  session.sampler->set_limit(problem.kernel_limit());
  Rounds rounds(session, problem, order);
  FATUNE_TRY_STATUS(rounds.open());
  FATUNE_TRY_STATUS(rounds.run(note));
  return rounds.reply();
}

}  // namespace fatune
