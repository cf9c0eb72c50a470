// score.hpp - the composite score of a candidate: speed, use of the device, and cost of the code.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace fatune {

/// The part of a score that tools have to count, for one candidate.
struct DeviceUse {
  std::optional<double> tensor_pct, sm_busy_pct;  ///< hardware counters, 0 to 100
  std::optional<double> syncs;                    ///< block barriers in the machine code
  std::string missing;                            ///< why some of it is empty
};

/// What the score is made of. What was not measured stays empty and is no term.
struct ScoreInputs : DeviceUse {
  double candidate_us = 0;
  std::optional<double> sdpa_us;      ///< the fastest of the vendors' fused attentions
  std::optional<double> registers;    ///< per thread
  std::optional<double> spill_bytes;  ///< stored and loaded, per thread
};

struct CompositeScore {
  double value = 0;
  std::vector<std::string> absent;  ///< names of the terms without a measurement
};

/// 1000·(sdpa/candidate) + 2·tensor_pct + sm_busy − penalties.
///
/// The scale comes from the first term: parity with SDPA is 1000 points, so 10 points are one per
/// cent of speed. A tensor pipe that is active half of the time gives 100, busy multiprocessors up
/// to 100: together as much as 30 % of speed, for kernels with room left on larger problems. The
/// penalties, chosen, only separate kernels of similar speed: what they cost in time is in the
/// first term already. One barrier: 1 point (a tenth of a per cent). Each register beyond 128: 0.1
/// (128 lets four warps' blocks have four on a multiprocessor; 255 cost 12.7, about a per cent).
/// Each spilled byte: 0.25 (a register spilled and reloaded is 8 bytes: 2 points).
CompositeScore composite_score(const ScoreInputs& x);

/// Scores that can be compared with each other: a term that one of them lacks is absent in all.
std::vector<CompositeScore> comparable_scores(std::vector<ScoreInputs> inputs);

}  // namespace fatune
