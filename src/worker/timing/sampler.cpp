// sampler.cpp: Queues work between events, and takes samples until the stop rule has enough.
#include "worker/timing/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <thread>

#include "model/results/statistics.hpp"

namespace fatune {
namespace {

constexpr Micros kFlushOverhead{50};  // chosen: about what overwriting 100 MB takes on an H200
constexpr std::chrono::milliseconds kFirstPause{50};  // after throttling; doubles each time

}  // namespace

StopRule::StopRule(const StopLimits& limits, std::optional<Micros> best)
    : limits_(limits), best_(best) {}

void StopRule::add(Micros per_launch, Micros spent) {
  samples_us_.push_back(per_launch.value);
  spent_ = spent_ + spent;
  reason_ = decide();
}

StopReason StopRule::decide() const {
  const auto count = static_cast<int>(samples_us_.size());
  if (best_ && count >= limits_.kill_after &&
      median(samples_us_) > limits_.kill_ratio * best_->value) {
    return StopReason::kSlow;
  }
  if (count >= limits_.max_samples) return StopReason::kSamples;
  if (count >= limits_.kill_after && spent_ >= limits_.gpu_budget) return StopReason::kBudget;
  if (count >= limits_.min_samples &&
      relative_standard_error(samples_us_) <= limits_.relative_error) {
    return StopReason::kPrecise;
  }
  return StopReason::kNotYet;
}

std::int64_t launches_per_replay(const SamplingPlan& plan, Micros each) {
  if (!(each.value > 0)) return plan.max_graph_launches;
  const double wanted = std::ceil(plan.graph_time / each);
  return static_cast<std::int64_t>(
      std::clamp(wanted, 1.0, static_cast<double>(plan.max_graph_launches)));
}

Result<Sampler> Sampler::make(const gpu::Context& context, CUstream stream,
                              const gpu::Telemetry& telemetry, std::int64_t l2_bytes,
                              const SamplingPlan& plan) {
  Sampler sampler;
  sampler.plan_ = plan;
  sampler.stream_ = stream;
  sampler.telemetry_ = &telemetry;
  sampler.context_ = &context;
  FATUNE_TRY(sampler.start_, gpu::make_event(context));
  FATUNE_TRY(sampler.stop_, gpu::make_event(context));
  const auto bytes = static_cast<std::size_t>(plan.flush_factor * static_cast<double>(l2_bytes));
  FATUNE_TRY(sampler.flush_, gpu::make_buffer(context, bytes));
  return sampler;
}

/// False if the launches did not end.
Result<bool> Sampler::wait(const gpu::Event& end, std::int64_t launches) {
  FATUNE_TRY(const bool done, gpu::wait(end.raw(), limit_ * launches));
  if (!done && hung_) hung_();
  return done;
}

Result<MaybeTime> Sampler::time_between(const QueueWork& work, std::int64_t launches) {
  FATUNE_TRY_STATUS(gpu::record(start_.raw(), stream_));
  FATUNE_TRY_STATUS(work());
  FATUNE_TRY_STATUS(gpu::record(stop_.raw(), stream_));
  FATUNE_TRY(const bool done, wait(stop_, launches));
  if (!done) return MaybeTime{};
  FATUNE_TRY(const Micros time, gpu::elapsed(start_.raw(), stop_.raw()));
  return MaybeTime(time * (1.0 / static_cast<double>(launches)));
}

Result<MaybeTime> Sampler::time_once(const QueueWork& work) { return time_between(work, 1); }

Result<MaybeTime> Sampler::time_behind(const QueueWork& before, const QueueWork& work) {
  FATUNE_TRY_STATUS(before());
  return time_between(work, 1);
}

Result<MaybeTime> Sampler::estimate(const QueueWork& work) {
  MaybeTime shortest;
  for (int i = 0; i < plan_.estimate_launches; ++i) {
    FATUNE_TRY(const MaybeTime time, time_once(work));
    if (!time) return MaybeTime{};
    shortest = shortest ? std::min(*shortest, *time) : *time;
    if (shortest->value > kLongUs) break;
  }
  return shortest;
}

Result<HotLoop> Sampler::make_loop(const QueueWork& work, Micros each) {
  return make_loop_of(work, 1, launches_per_replay(plan_, each));
}

Result<HotLoop> Sampler::make_loop_of(const QueueWork& work, std::int64_t parts,
                                      std::int64_t passes) {
  HotLoop loop;
  loop.launches = parts * passes;
  const auto queue_all = [&]() -> Status {
    for (std::int64_t i = 0; i < passes; ++i) FATUNE_TRY_STATUS(work());
    return {};
  };
  FATUNE_TRY(const gpu::Graph graph, gpu::capture(stream_, queue_all));
  FATUNE_TRY(loop.edges, gpu::edges_of(graph));
  FATUNE_TRY(loop.graph, gpu::instantiate(graph, stream_));
  return loop;
}

Result<MaybeTime> Sampler::time_loop(const HotLoop& loop) {
  return time_between([&] { return gpu::launch(loop.graph, stream_); }, loop.launches);
}

Result<std::optional<std::vector<Micros>>> Sampler::time_in_turn(
    std::span<const HotLoop* const> loops) {
  while (turns_.size() < loops.size()) {
    FATUNE_TRY(gpu::Event event, gpu::make_event(*context_));
    turns_.push_back(std::move(event));
  }
  FATUNE_TRY_STATUS(gpu::record(start_.raw(), stream_));
  for (std::size_t i = 0; i < loops.size(); ++i) {
    FATUNE_TRY_STATUS(gpu::launch(loops[i]->graph, stream_));
    FATUNE_TRY_STATUS(gpu::record(turns_[i].raw(), stream_));
  }
  std::vector<Micros> times;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    FATUNE_TRY(const bool done, wait(turns_[i], loops[i]->launches));
    if (!done) return std::optional<std::vector<Micros>>{};
    const gpu::Event& begin = i == 0 ? start_ : turns_[i - 1];
    FATUNE_TRY(const Micros time, gpu::elapsed(begin.raw(), turns_[i].raw()));
    times.push_back(time * (1.0 / static_cast<double>(loops[i]->launches)));
  }
  return std::optional(std::move(times));
}

Result<MaybeTime> Sampler::time_cold(const QueueWork& work) {
  FATUNE_TRY_STATUS(gpu::reset_persisting_lines());  // persisting lines would survive the flush
  FATUNE_TRY_STATUS(gpu::fill_bytes(flush_.address(), 0, flush_.bytes(), stream_));
  return time_between(work, 1);
}

/// Queues replays for some milliseconds, and reads the telemetry while they run. False if they do
/// not end.
Result<bool> Sampler::warm_up(const HotLoop& loop, Micros each, ConditionWatch& watch) {
  const Micros replay = each * static_cast<double>(loop.launches);
  const double replays = std::clamp(std::ceil(plan_.warmup_time / replay), 1.0, 100.0);
  for (int i = 0; i < static_cast<int>(replays); ++i)
    FATUNE_TRY_STATUS(gpu::launch(loop.graph, stream_));
  FATUNE_TRY_STATUS(gpu::record(stop_.raw(), stream_));
  watch.look();
  return wait(stop_, loop.launches * static_cast<std::int64_t>(replays));
}

Result<Sampled> Sampler::series(const std::function<Result<MaybeTime>()>& sample,
                                std::int64_t launches, Micros overhead, const StopRule& fresh,
                                ConditionWatch& watch) {
  Sampled sampled;
  for (int attempt = 0;; ++attempt) {
    StopRule rule = fresh;
    while (!rule.finished()) {
      FATUNE_TRY(const MaybeTime time, sample());
      if (!time) {
        sampled.hung = true;
        return sampled;
      }
      rule.add(*time, *time * static_cast<double>(launches) + overhead);
    }
    const bool throttled = watch.look();
    if (throttled && attempt < plan_.throttle_retries) {
      watch.count_discarded(static_cast<std::int64_t>(rule.samples_us().size()));
      std::this_thread::sleep_for(kFirstPause * (1 << attempt));
      continue;
    }
    sampled.timing = summarize(rule.samples_us(), launches);
    sampled.timing.killed_early = rule.reason() == StopReason::kSlow;
    sampled.conditions = watch.conditions();
    return sampled;
  }
}

Result<Sampled> Sampler::hot(const QueueWork& work, std::optional<Micros> best, bool screening) {
  Sampled hung;
  hung.hung = true;
  FATUNE_TRY(const MaybeTime each, estimate(work));
  if (!each) return hung;
  FATUNE_TRY(HotLoop loop, make_loop(work, *each));
  ConditionWatch watch(*telemetry_);
  if (each->value < kLongUs) {
    FATUNE_TRY(const bool warm, warm_up(loop, *each, watch));
    if (!warm) return hung;
  }
  StopLimits limits = plan_.stop;
  if (screening) limits.min_samples = plan_.screening_samples;
  FATUNE_TRY(Sampled sampled, series([&] { return time_loop(loop); }, loop.launches, Micros(0),
                                     StopRule(limits, best), watch));
  sampled.loop = std::move(loop);
  return sampled;
}

Result<Sampled> Sampler::cold(const QueueWork& work, std::optional<Micros> best) {
  ConditionWatch watch(*telemetry_);
  return series([&] { return time_cold(work); }, 1, kFlushOverhead, StopRule(plan_.stop, best),
                watch);
}

std::vector<std::vector<std::size_t>> shuffled_rounds(std::size_t contestants, int rounds,
                                                      std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<std::vector<std::size_t>> orders;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::size_t> order(contestants);
    std::iota(order.begin(), order.end(), std::size_t{0});
    // This is Fisher-Yates, because std::shuffle gives other orders with other standard libraries.
    for (std::size_t left = contestants; left > 1; --left) {
      std::swap(order[left - 1], order[static_cast<std::size_t>(engine() % left)]);
    }
    orders.push_back(std::move(order));
  }
  return orders;
}

}  // namespace fatune
