// sampler.hpp - queued GPU work to samples: hot in graphs, cold behind an L2 flush, until a rule
// has enough of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "gpu/objects.hpp"
#include "gpu/telemetry.hpp"
#include "model/results/measurement.hpp"

namespace fatune {

/// When a series of samples ends.
struct StopLimits {
  int min_samples = 20;       ///< chosen: compiling the next candidate takes longer
  int max_samples = 100;      ///< chosen
  Micros gpu_budget{60'000};  ///< device time of all samples together
  /// Standard error of the median; half a per cent separates neighbours in a ranking.
  double relative_error = 0.005;
  int kill_after = 3;       ///< samples before a candidate may be given up
  double kill_ratio = 2.0;  ///< given up when the median is beyond this multiple of the best
};

enum class StopReason { kNotYet, kPrecise, kBudget, kSamples, kSlow };

/// Fed one sample after the other; knows no clock and no GPU.
class StopRule {
 public:
  /// `best`: the fastest time so far; without one no candidate is given up as slow.
  StopRule(const StopLimits& limits, std::optional<Micros> best);
  /// A sample: time of one launch, and the device time it took to learn it.
  void add(Micros per_launch, Micros spent);
  bool finished() const { return reason_ != StopReason::kNotYet; }
  StopReason reason() const { return reason_; }
  const std::vector<double>& samples_us() const { return samples_us_; }

 private:
  StopReason decide() const;

  StopLimits limits_;
  std::optional<Micros> best_;
  std::vector<double> samples_us_;
  Micros spent_{0};
  StopReason reason_ = StopReason::kNotYet;
};

/// The numbers of the timing method: warm-up, samples, flush.
struct SamplingPlan {
  int estimate_launches = 3;  ///< single launches that tell how long one takes; they warm up, too
  Micros warmup_time{2'000};  ///< of replays before the first sample, so that clocks have risen
  Micros graph_time{400};     ///< of a replay: 0.5 us of event jitter is then 0.13 %
  int max_graph_launches = 256;
  /// Bytes overwritten before a cold launch, in multiples of the L2 cache.
  double flush_factor = 2.0;
  /// Least samples of a hot series that is no more than a first look: another time decides.
  int screening_samples = 10;
  /// Series discarded because the GPU throttled, before a throttled one is kept.
  int throttle_retries = 4;
  StopLimits stop;
};

/// Chosen: a cold series of longer launches has one sample a round.
inline constexpr double kSlowUs = 1'000;
/// Chosen: a cold cache does not change the time of longer launches. One launch is then estimate,
/// warm-up, hot and cold.
inline constexpr double kLongUs = 20'000;

/// Queues one run of a kernel, all its stages, on the sampler's stream.
using QueueWork = std::function<Status()>;
/// The time of one launch; empty when the device did not finish within the limit, after which the
/// process must end.
using MaybeTime = std::optional<Micros>;

/// A graph of back-to-back launches, ready to be replayed.
struct HotLoop {
  gpu::GraphExec graph;
  std::int64_t launches = 1;
  std::optional<gpu::GraphEdges> edges = {};  ///< empty: the driver does not tell
};

struct Sampled {
  bool hung = false;  ///< a launch did not finish; nothing else is set
  Timing timing;
  Conditions conditions;
  std::optional<HotLoop> loop = {};  ///< of a hot series: what was timed, to look at what it leaves
};

/// Launches in a graph that lasts about plan.graph_time.
std::int64_t launches_per_replay(const SamplingPlan& plan, Micros each);

class Sampler {
 public:
  /// `telemetry` and `context` must outlive the sampler. Allocates the memory that flushes
  /// overwrite.
  static Result<Sampler> make(const gpu::Context& context, CUstream stream,
                              const gpu::Telemetry& telemetry, std::int64_t l2_bytes,
                              const SamplingPlan& plan);
  /// A launch that takes longer than this counts as hung.
  void set_limit(std::chrono::microseconds limit) { limit_ = limit; }
  /// Called at once when a launch hangs. A process may end itself there: destructors could wait for
  /// the hung kernel.
  void set_hang_handler(std::function<void()> handler) { hung_ = std::move(handler); }

  /// `screening`: another time decides, so that fewer samples do.
  Result<Sampled> hot(const QueueWork& work, std::optional<Micros> best, bool screening = false);
  Result<Sampled> cold(const QueueWork& work, std::optional<Micros> best);

  /// One launch between two events, the cache as it is; for estimates.
  Result<MaybeTime> time_once(const QueueWork& work);
  /// The same behind other work, whose time does not count: where that lasts until all is queued,
  /// no launch latency of the host does.
  Result<MaybeTime> time_behind(const QueueWork& before, const QueueWork& work);
  /// Shortest of a few launches.
  Result<MaybeTime> estimate(const QueueWork& work);
  Result<HotLoop> make_loop(const QueueWork& work, Micros each);
  /// A graph of `passes` times the work, which counts as `parts` launches each time.
  Result<HotLoop> make_loop_of(const QueueWork& work, std::int64_t parts, std::int64_t passes);
  /// One replay, divided by its launches.
  Result<MaybeTime> time_loop(const HotLoop& loop);
  /// A replay of each, one queued behind the other; the times as of time_loop().
  Result<std::optional<std::vector<Micros>>> time_in_turn(std::span<const HotLoop* const> loops);
  /// One launch with a flushed cache; the flush is outside the event pair.
  Result<MaybeTime> time_cold(const QueueWork& work);

  const gpu::Telemetry& telemetry() const { return *telemetry_; }

 private:
  Sampler() = default;
  Result<bool> wait(const gpu::Event& end, std::int64_t launches);
  Result<MaybeTime> time_between(const QueueWork& work, std::int64_t launches);
  Result<bool> warm_up(const HotLoop& loop, Micros each, ConditionWatch& watch);
  Result<Sampled> series(const std::function<Result<MaybeTime>()>& sample, std::int64_t launches,
                         Micros overhead, const StopRule& fresh, ConditionWatch& watch);

  SamplingPlan plan_;
  CUstream stream_ = nullptr;
  const gpu::Telemetry* telemetry_ = nullptr;
  const gpu::Context* context_ = nullptr;
  gpu::Event start_, stop_;
  std::vector<gpu::Event> turns_;  ///< the ends of replays in turn; made as they are needed
  gpu::Buffer flush_;
  std::chrono::microseconds limit_{std::chrono::seconds(10)};
  std::function<void()> hung_;
};

/// A random order of the contestants for every round, the same for a seed: `rounds` permutations of
/// 0..contestants-1: drift of clocks and heat then affects all contestants alike.
std::vector<std::vector<std::size_t>> shuffled_rounds(std::size_t contestants, int rounds,
                                                      std::uint64_t seed);

}  // namespace fatune
