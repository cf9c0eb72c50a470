// contender.cpp - graph replays and cold launches of one program, round by round.
#include "worker/device/contender.hpp"

#include <algorithm>
#include <utility>

#include "model/results/statistics.hpp"

namespace fatune {
namespace {

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

}  // namespace

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

}  // namespace fatune
