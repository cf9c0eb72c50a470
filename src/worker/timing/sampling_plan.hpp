// sampling_plan.hpp - the numbers of the timing method: warm-up, samples, flush.
#pragma once

#include "core/units.hpp"

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

struct SamplingPlan {
  int estimate_launches = 3;  ///< single launches that tell how long one takes; they warm up, too
  Micros warmup_time{2'000};  ///< of replays before the first sample, so that clocks have risen
  Micros graph_time{400};     ///< of a replay: 0.5 us of event jitter is then 0.13 %
  int max_graph_launches = 256;
  /// Bytes overwritten before a cold launch, in multiples of the L2 cache.
  double flush_factor = 2.0;
  /// Series discarded because the GPU throttled, before a throttled one is kept.
  int throttle_retries = 4;
  StopLimits stop;
};

}  // namespace fatune
