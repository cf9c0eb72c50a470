// round_run.cpp - contestants to one hot and one cold time for every round.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/telemetry.hpp"
#include "model/results/statistics.hpp"
#include "worker/device/gates.hpp"
#include "worker/device/loaded_program.hpp"
#include "worker/timing/sampler.hpp"

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

Result<Micros> finished(const Result<MaybeTime>& time, const DeviceProblem& problem) {
  if (!time) return Error(time.error());
  if (!*time) return device_error(hang_failure(problem.kernel_limit()).reason);
  return **time;
}

/// A program ready to take its turn in every round.
class Contender {
 public:
  static Result<Contender> make(DeviceSession& session, DeviceProblem& problem,
                                const Program& program);
  bool takes_turn(int round, int rounds) const;
  /// A replay that warms up, one that counts, then cold launches, of which the median counts.
  Result<TurnTimes> turn(DeviceSession& session, DeviceProblem& problem, int cold_launches);
  /// After the rounds: the gates of timed launches; those passed are in `found`. Of one that runs
  /// in its own process only its times are judged.
  MaybeFailure check_timed(DeviceSession& session, DeviceProblem& problem, const RoundsRow& row,
                           Verification& found);
  std::int64_t hot_launches() const;
  std::string detail() const { return program_->detail(); }

 private:
  SelfTimed* self_timed() const { return program_->self_timed(); }

  OpenProgram program_;
  HotLoop loop_;
  Micros each_{0};
};

Result<Contender> Contender::make(DeviceSession& session, DeviceProblem& problem,
                                  const Program& program) {
  Contender contender;
  FATUNE_TRY(contender.program_, OpenProgram::open(session, problem, program));
  if (contender.self_timed() != nullptr) return contender;
  const QueueWork work = [&] { return contender.program_->queue(); };
  FATUNE_TRY(contender.each_, finished(session.sampler->estimate(work), problem));
  FATUNE_TRY(contender.loop_, session.sampler->make_loop(work, contender.each_));
  return contender;
}

bool Contender::takes_turn(int round, int rounds) const {
  if (self_timed() != nullptr) return self_timed()->takes_turn(round, rounds);
  return each_.value < kVerySlowUs || round % std::max(1, rounds / kFewTurns) == 0;
}

std::int64_t Contender::hot_launches() const {
  return self_timed() != nullptr ? self_timed()->hot_launches() : loop_.launches;
}

Result<TurnTimes> Contender::turn(DeviceSession& session, DeviceProblem& problem,
                                  int cold_launches) {
  if (self_timed() != nullptr) return self_timed()->take_turn(cold_launches);
  Sampler& sampler = *session.sampler;
  const QueueWork work = [&] { return program_->queue(); };
  TurnTimes times;
  if (each_.value < kLongUs) {
    // The contestant before left the cache empty of this one's data, code and graph. Not waited
    // for: while it runs, the replay that counts is queued, and no launch latency falls between its
    // events.
    FATUNE_TRY_STATUS(gpu::launch(loop_.graph, session.stream.raw()));
  }
  FATUNE_TRY(const Micros hot, finished(sampler.time_loop(loop_), problem));
  times.hot_us = hot.value;
  times.cold_us = hot.value;
  if (each_.value >= kLongUs) return times;
  std::vector<double> cold_us;
  for (int i = 0; i < (each_.value >= kSlowUs ? 1 : cold_launches); ++i) {
    FATUNE_TRY(const Micros cold, finished(sampler.time_cold(work), problem));
    cold_us.push_back(cold.value);
  }
  times.cold_us = median(std::move(cold_us));
  return times;
}

MaybeFailure Contender::check_timed(DeviceSession& session, DeviceProblem& problem,
                                    const RoundsRow& row, Verification& found) {
  TimedRun run{&loop_, std::nullopt, std::nullopt};
  if (!row.hot_us.empty()) run.hot = Micros(median(row.hot_us));
  if (!row.cold_us.empty()) run.cold = Micros(median(row.cold_us));
  if (self_timed() != nullptr)
    return check_physics(floor_of(session, problem.problem()), run.hot, run.cold, found);
  GateKeeper gates(session, problem, *program_);
  MaybeFailure failure = gates.check_timed(run);
  found = gates.verification();
  return failure;
}

/// The rounds of one order. A contestant of our own that fails here, after it passed every gate, is
/// an error; an implementation from elsewhere gets a failed row, and the rest goes on.
class Rounds {
 public:
  Rounds(DeviceSession& session, DeviceProblem& problem, const RoundsOrder& order)
      : session_(session), problem_(problem), order_(order), watch_(session.telemetry) {}

  Status open() {
    contenders_.resize(order_.contestants.size());
    rows_.resize(order_.contestants.size());
    for (std::size_t who = 0; who < contenders_.size(); ++who) {
      auto made = Contender::make(session_, problem_, order_.contestants[who]);
      if (!made) {
        FATUNE_TRY_STATUS(give_up(who, made.error()));
        continue;
      }
      rows_[who].hot_launches = made->hot_launches();
      contenders_[who] = *std::move(made);
    }
    return {};
  }

  Status run(const PhaseNote& note) {
    const auto rounds = shuffled_rounds(contenders_.size(), order_.rounds, order_.seed);
    // The first round warms up: clocks, caches, and the driver's own first-launch work.
    if (!rounds.empty()) FATUNE_TRY_STATUS(run_round(rounds.front(), -1));
    for (std::size_t round = 0; round < rounds.size(); ++round) {
      if (round % kRoundsBetweenNotes == 0) note(fmt::format("final {}/{}", round, rounds.size()));
      FATUNE_TRY_STATUS(run_round(rounds[round], static_cast<int>(round)));
    }
    return order_.verify ? check_outputs() : Status();
  }

  RoundsReply reply() {
    for (std::size_t who = 0; who < rows_.size(); ++who) {
      rows_[who].conditions = watch_.conditions();
      if (contenders_[who]) rows_[who].detail = contenders_[who]->detail();
    }
    return {std::move(rows_)};
  }

 private:
  using Values = std::vector<std::optional<TurnTimes>>;

  Status give_up(std::size_t who, const Error& error) {
    if (!order_.contestants[who].outside) return Error(error);
    const Failure failure = failure_of(error, session_.stream.raw());
    if (failure.fatal) return Error(error);
    contenders_[who].reset();
    rows_[who].outcome = failure.outcome;
    rows_[who].reason = failure.reason;
    return {};
  }

  /// Round -1 warms up: one cold launch, and only those that are always there.
  Result<Values> measure(const std::vector<std::size_t>& who_after_whom, int round) {
    Values values(contenders_.size());
    const bool warming = round < 0;
    for (const std::size_t who : who_after_whom) {
      if (!contenders_[who]) continue;
      if (!contenders_[who]->takes_turn(warming ? 1 : round, order_.rounds)) continue;
      const int launches = warming ? 1 : order_.launches_per_round;
      auto times = contenders_[who]->turn(session_, problem_, launches);
      if (times) {
        values[who] = *times;
      } else {
        FATUNE_TRY_STATUS(give_up(who, times.error()));
      }
    }
    return values;
  }

  /// Repeated while the GPU is throttled.
  Status run_round(const std::vector<std::size_t>& who_after_whom, int round) {
    for (int attempt = 0;; ++attempt) {
      FATUNE_TRY(const Values values, measure(who_after_whom, round));
      if (watch_.look() && attempt < kRoundRetries) {
        watch_.count_discarded(1);
        continue;
      }
      if (round < 0) return {};
      for (std::size_t who = 0; who < values.size(); ++who) {
        if (!values[who]) continue;
        rows_[who].hot_us.push_back(values[who]->hot_us);
        if (values[who]->cold_us) rows_[who].cold_us.push_back(*values[who]->cold_us);
      }
      return {};
    }
  }

  /// What the timed graphs leave must still be right.
  Status check_outputs() {
    for (std::size_t who = 0; who < contenders_.size(); ++who) {
      if (!contenders_[who]) continue;
      Verification found;
      const MaybeFailure failure =
          contenders_[who]->check_timed(session_, problem_, rows_[who], found);
      rows_[who].gates = std::move(found.gates);
      rows_[who].not_run = std::move(found.not_run);
      if (!failure) continue;
      if (failure->fatal) return device_error(failure->reason);
      rows_[who].outcome = failure->outcome;
      rows_[who].reason = failure->reason;
    }
    return {};
  }

  DeviceSession& session_;
  DeviceProblem& problem_;
  const RoundsOrder& order_;
  ConditionWatch watch_;
  std::vector<std::optional<Contender>> contenders_;
  std::vector<RoundsRow> rows_;
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
