// candidate_run.cpp: Loads, verifies and times one candidate.
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/results/statistics.hpp"
#include "worker/device/loaded_program.hpp"
#include "worker/gates/gates.hpp"
#include "worker/runs/runs.hpp"
#include "worker/timing/layer.hpp"

namespace fatune {
namespace {

using Clock = std::chrono::steady_clock;

// Chosen: the median of this many turns in a layer is within half a per cent (measured: 0.4 %
// each).
constexpr std::size_t kLayerTurns = 5;
constexpr double kLongInLayerUs = 2'000;  // chosen: one turn of such launches is long enough

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

/// Takes a few turns, corrected by the speed of the layers without attention meanwhile. Takes none
/// if there is no layer. Asks the gate of a layer if there are `gates`; accuracy there is left to
/// the final phase.
MaybeFailure time_in_layer(DeviceSession& session, DeviceProblem& problem, Executable& program,
                           GateContext* gates, RunReply& reply) {
  const auto layer = problem.layer();
  if (!layer) return std::nullopt;
  Sampler& sampler = *session.sampler;
  const CUstream stream = session.stream.raw();
  const auto loop = (*layer)->loop_with(sampler, program);
  if (!loop) return failure_of(loop.error(), stream);
  const bool is_long = reply.hot && reply.hot->median_us > kLongInLayerUs;
  const std::vector<const HotLoop*> turns(is_long ? 1 : kLayerTurns, &*loop);
  auto times = time_layers(sampler, **layer, turns);
  if (!times) return failure_of(times.error(), stream);
  if (!*times) return hang_failure(problem.kernel_limit());
  const double faster = (*layer)->without_time().value / (*times)->without_us;
  std::vector<double> attention_us;
  for (const LayerTurn& turn : (*times)->turns) attention_us.push_back(turn.us * faster);
  reply.in_layer = summarize(attention_us, loop->launches);
  return gates == nullptr ? std::nullopt : verify_in_layer(*gates, {*layer, &*loop, false});
}

MaybeFailure time_candidate(DeviceSession& session, DeviceProblem& problem, Executable& program,
                            const RunOrder& order, RunReply& reply, std::optional<HotLoop>& timed) {
  const CUstream stream = session.stream.raw();
  const auto prepare = [&]() -> Status {
    // The gates check the output afterwards: it must come from these launches on these inputs.
    FATUNE_TRY_STATUS(program.bind(problem.addresses(problem.sets().front())));
    FATUNE_TRY_STATUS(fill_insides(problem.outputs(), kNanByte, stream));
    FATUNE_TRY_STATUS(problem.fill_read_outputs(problem.sets().front()));
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
    const bool screening = order.in_layer && problem.layer();
    auto sampled = session.sampler->hot(work, micros(order.best_hot_us), screening);
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

  GateContext gates(session, problem, executable);
  gates.locate_errors = order.locate_errors;
  const auto start = Clock::now();
  note("verifying");
  MaybeFailure failure = order.verify ? verify(gates, note) : launch_only(gates);
  reply.verify_s = seconds_since(start);
  reply.verification = gates.verification;
  reply.regions = gates.regions;
  if (failure || (!order.hot && !order.cold)) return failure;

  const auto timing_start = Clock::now();
  note("timing");
  std::optional<HotLoop> timed;
  failure = time_candidate(session, problem, executable, order, reply, timed);
  if (!failure && order.verify) {
    failure = verify_timed(gates, {.loop = timed ? &*timed : nullptr,
                                   .hot = median_of(reply.hot),
                                   .cold = median_of(reply.cold)});
    reply.verification = gates.verification;
  }
  const bool given_up = reply.hot && reply.hot->killed_early;
  if (!failure && order.in_layer && !given_up) {
    failure = time_in_layer(session, problem, executable, order.verify ? &gates : nullptr, reply);
    reply.verification = gates.verification;
  }
  reply.timing_s = seconds_since(timing_start);
  return failure;
}

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
    reply.in_layer.reset();
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

}  // namespace fatune
