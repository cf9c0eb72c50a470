// sampler.hpp: Times GPU work, hot in graphs or cold behind an L2 flush.
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

/// Limits that end a series of samples.
struct StopLimits {
  int min_samples = 20;       ///< chosen: compiling the next candidate takes longer
  int max_samples = 100;      ///< chosen
  Micros gpu_budget{60'000};  ///< device time of all samples
  /// Standard error of the median; half a per cent separates neighbours in a ranking.
  double relative_error = 0.005;
  int kill_after = 3;       ///< samples before a candidate may be given up
  double kill_ratio = 2.0;  ///< a median beyond this multiple of the best is given up
};

enum class StopReason { kNotYet, kPrecise, kBudget, kSamples, kSlow };

/// Decides from the samples alone when a series ends.
class StopRule {
 public:
  /// `best` is the fastest time so far. Without it no candidate is given up as slow.
  StopRule(const StopLimits& limits, std::optional<Micros> best);
  /// Adds the time of one launch, and the device time that the sample took.
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

/// The numbers of the timing method.
struct SamplingPlan {
  int estimate_launches = 3;  ///< single launches for an estimate; they warm up, too
  Micros warmup_time{2'000};  ///< replays before the first sample, so that clocks rise
  Micros graph_time{400};     ///< of a replay: 0.5 us of event jitter is then 0.13 %
  int max_graph_launches = 256;
  /// Bytes overwritten before a cold launch, in multiples of the L2 cache.
  double flush_factor = 2.0;
  /// The fewest samples of a hot series if another time decides.
  int screening_samples = 10;
  /// Series that are discarded because the GPU throttled, before a throttled one is kept.
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
/// The time of one launch. Empty if the device did not finish within the limit; the process must
/// then end.
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
  std::optional<HotLoop> loop = {};  ///< the timed graph of a hot series, for the gates
};

/// The number of launches in a graph that lasts about plan.graph_time.
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
  /// `handler` is called at once if a launch hangs. It may end the process, because destructors
  /// could wait for the hung kernel.
  void set_hang_handler(std::function<void()> handler) { hung_ = std::move(handler); }

  /// `screening`: another time decides, so fewer samples suffice.
  Result<Sampled> hot(const QueueWork& work, std::optional<Micros> best, bool screening = false);
  Result<Sampled> cold(const QueueWork& work, std::optional<Micros> best);

  /// Times one launch between two events, with the cache as it is.
  Result<MaybeTime> time_once(const QueueWork& work);
  /// Times work behind other work, whose time does not count. If that work lasts until all is
  /// queued, the host's launch latency does not count either.
  Result<MaybeTime> time_behind(const QueueWork& before, const QueueWork& work);
  /// Times a few launches, and returns the shortest.
  Result<MaybeTime> estimate(const QueueWork& work);
  Result<HotLoop> make_loop(const QueueWork& work, Micros each);
  /// Captures the work `passes` times. Each pass counts as `parts` launches.
  Result<HotLoop> make_loop_of(const QueueWork& work, std::int64_t parts, std::int64_t passes);
  /// Times one replay, divided by its launches.
  Result<MaybeTime> time_loop(const HotLoop& loop);
  /// Times a replay of each, all queued one behind the other.
  Result<std::optional<std::vector<Micros>>> time_in_turn(std::span<const HotLoop* const> loops);
  /// Times one launch with a flushed cache. The flush is outside the event pair.
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
  std::vector<gpu::Event> turns_;  ///< ends of replays in turn; made when needed
  gpu::Buffer flush_;
  std::chrono::microseconds limit_{std::chrono::seconds(10)};
  std::function<void()> hung_;
};

/// A random order of the contestants for every round: `rounds` permutations of 0..contestants-1,
/// the same for a seed. Drift of clocks and heat then affects all contestants alike.
std::vector<std::vector<std::size_t>> shuffled_rounds(std::size_t contestants, int rounds,
                                                      std::uint64_t seed);

}  // namespace fatune
