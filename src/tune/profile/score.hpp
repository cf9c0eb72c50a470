// score.hpp: Computes a candidate's composite score: speed, use of the device, and cost of the
// code.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace fatune {

/// The measurements of a score that need external tools, for one candidate.
struct DeviceUse {
  std::optional<double> tensor_pct, sm_busy_pct;  ///< hardware counters, 0 to 100
  std::optional<double> syncs;                    ///< block barriers in the machine code
  std::string missing;                            ///< why a value is empty
};

/// The terms of a score. Terms without a measurement stay empty and do not count.
struct ScoreInputs : DeviceUse {
  double candidate_us = 0;
  std::optional<double> sdpa_us;      ///< time of the fastest fused attention of a vendor
  std::optional<double> registers;    ///< per thread
  std::optional<double> spill_bytes;  ///< stored and loaded, per thread
};

struct CompositeScore {
  double value = 0;
  std::vector<std::string> absent;  ///< names of the terms without a measurement
};

/// Returns 1000·(sdpa/candidate) + 2·tensor_pct + sm_busy − penalties.
///
/// Parity with SDPA is 1000 points, so 10 points are 1 % of speed. A tensor pipe active half of the
/// time gives 100 points, and busy multiprocessors up to 100. The penalties are chosen and only
/// separate kernels of similar speed. One barrier costs 1 point. Each register beyond 128 costs
/// 0.1; with 128, a multiprocessor holds four blocks of four warps. Each spilled byte costs 0.25,
/// so a spilled and reloaded register costs 2 points.
CompositeScore composite_score(const ScoreInputs& x);

/// Returns comparable scores: a term that one candidate lacks is dropped for all.
std::vector<CompositeScore> comparable_scores(std::vector<ScoreInputs> inputs);

}  // namespace fatune
