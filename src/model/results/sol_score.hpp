// sol_score.hpp: Scores a winner from 0 to 1 by its time, a baseline's time and the physics floor.
#pragma once

#include <optional>

#include "core/fields_fwd.hpp"
#include "model/results/physics.hpp"
#include "model/results/sweep_result.hpp"

namespace fatune {

/// SOL-ExecBench's score (arXiv 2603.19173), 1 / (1 + (time - floor) / (baseline - floor)): 1 at
/// the floor, 0.5 as fast as the baseline. A time below the floor counts as the floor. Empty unless
/// the baseline is above it.
std::optional<double> sol_score(Micros time, Micros baseline, Micros floor);

struct SolScore {
  double value = 0;
  Time time = Time::kHot;  ///< the scored time
  Floor floor;
};
void fields(SolScore& x, FieldList& f);

/// Also empty if one contestant lacks this time, or the device's peak rates are unknown.
std::optional<SolScore> sol_score(const FinalRecord& best, const FinalRecord& baseline, Time time,
                                  const Environment& environment);
/// Scores the best against its gate's baseline, in the time by which this objective ranks finals.
std::optional<SolScore> sol_score(const ProblemResult& result, Objective objective,
                                  const Environment& environment);

}  // namespace fatune
