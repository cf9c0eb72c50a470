// round_run.cpp - contestants to one hot and one cold time for every round.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "evaluate/candidate_run.hpp"
#include "evaluate/gates.hpp"
#include "timing/conditions.hpp"
#include "timing/rounds.hpp"
#include "timing/statistics.hpp"

namespace fatune {
namespace {

constexpr double kSlowUs =
    1'000;  // chosen: a launch this long is measured cold once a round, not several times
constexpr double kLongUs =
    20'000;  // chosen: filling the cache is nothing to it; one launch stands for hot and cold
constexpr int kRoundRetries = 5;  // repeats of a round in which the GPU protected itself
constexpr int kRoundsBetweenNotes = 4;

struct Contender {
  LoadedProgram program;
  HotLoop loop;
  Micros each{0};
};

/// Values of one round, kept only when the GPU was not throttled.
struct RoundValues {
  double hot_us = 0, cold_us = 0;
};

Result<Micros> finished(const Result<MaybeTime>& time, const DeviceProblem& problem) {
  if (!time) return Error(time.error());
  if (!*time) return device_error(hang_failure(problem.kernel_limit()).reason);
  return **time;
}

Result<Contender> make_contender(DeviceSession& session, DeviceProblem& problem,
                                 const Program& program) {
  Contender contender;
  FATUNE_TRY(contender.program, LoadedProgram::load(session.context, session.stream.raw(), program,
                                                    problem.problem()));
  FATUNE_TRY_STATUS(contender.program.bind(problem.addresses(problem.sets().front())));
  const QueueWork work = [&] { return contender.program.queue(); };
  FATUNE_TRY(contender.each, finished(session.sampler->estimate(work), problem));
  FATUNE_TRY(contender.loop, session.sampler->make_loop(work, contender.each));
  return contender;
}

Result<RoundValues> measure(DeviceSession& session, DeviceProblem& problem, Contender& contender,
                            int launches) {
  Sampler& sampler = *session.sampler;
  const QueueWork work = [&] { return contender.program.queue(); };
  RoundValues values;
  if (contender.each.value < kLongUs) {
    // The contestant before left the cache empty of this one's data, code and graph.
    FATUNE_TRY_STATUS(gpu::launch(contender.loop.graph, session.stream.raw()));
    FATUNE_TRY_STATUS(gpu::synchronize(session.stream.raw()));
  }
  FATUNE_TRY(const Micros hot, finished(sampler.time_loop(contender.loop), problem));
  values.hot_us = values.cold_us = hot.value;
  if (contender.each.value >= kLongUs) return values;
  std::vector<double> cold_us;
  for (int i = 0; i < (contender.each.value >= kSlowUs ? 1 : launches); ++i) {
    FATUNE_TRY(const Micros cold, finished(sampler.time_cold(work), problem));
    cold_us.push_back(cold.value);
  }
  values.cold_us = median(std::move(cold_us));
  return values;
}

/// One round of everybody; repeated while the GPU is throttled.
Result<std::vector<RoundValues>> run_round(DeviceSession& session, DeviceProblem& problem,
                                           std::vector<Contender>& contenders,
                                           const std::vector<std::size_t>& order, int launches,
                                           ConditionWatch& watch) {
  std::vector<RoundValues> values(contenders.size());
  for (int attempt = 0; attempt <= kRoundRetries; ++attempt) {
    for (const std::size_t who : order) {
      FATUNE_TRY(values[who], measure(session, problem, contenders[who], launches));
    }
    if (!watch.look()) break;
    watch.count_discarded(1);
  }
  return values;
}

}  // namespace

Result<RoundsReply> run_rounds(DeviceSession& session, DeviceProblem& problem,
                               const RoundsOrder& order, const PhaseNote& note) {
  session.sampler->set_limit(problem.kernel_limit());
  std::vector<Contender> contenders;
  contenders.reserve(order.contestants.size());
  RoundsReply reply;
  for (const Program& program : order.contestants) {
    FATUNE_TRY(Contender contender, make_contender(session, problem, program));
    RoundsRow row;
    row.hot_launches = contender.loop.launches;
    contenders.push_back(std::move(contender));
    reply.rows.push_back(std::move(row));
  }
  ConditionWatch watch(session.telemetry);
  const auto rounds = shuffled_rounds(contenders.size(), order.rounds, order.seed);
  // The first round warms up: clocks, caches, and the driver's own first-launch work.
  if (!rounds.empty()) {
    const auto warm = run_round(session, problem, contenders, rounds.front(), 1, watch);
    if (!warm) return Error(warm.error());
  }
  for (std::size_t round = 0; round < rounds.size(); ++round) {
    if (round % kRoundsBetweenNotes == 0) {
      note("final " + std::to_string(round) + "/" + std::to_string(rounds.size()));
    }
    FATUNE_TRY(const auto values, run_round(session, problem, contenders, rounds[round],
                                            order.launches_per_round, watch));
    for (std::size_t who = 0; who < values.size(); ++who) {
      reply.rows[who].hot_us.push_back(values[who].hot_us);
      reply.rows[who].cold_us.push_back(values[who].cold_us);
    }
  }
  for (RoundsRow& row : reply.rows) row.conditions = watch.conditions();
  return reply;
}

}  // namespace fatune
