// sol_score.cpp: Computes how far a time lies between the baseline's time and the physics floor.
#include "model/results/sol_score.hpp"

#include <algorithm>

#include "core/fields.hpp"

namespace fatune {

std::optional<double> sol_score(Micros time, Micros baseline, Micros floor) {
  const double above = std::max(0.0, time.value - floor.value);
  const double baseline_above = baseline.value - floor.value;
  if (!(baseline_above > 0)) return std::nullopt;
  return baseline_above / (baseline_above + above);
}

void fields(SolScore& x, FieldList& f) {
  f.record("sol", "How near the best is to the least time that any right kernel needs");
  f("score", x.value).required().range(0, 1).about("1 at the floor, 0.5 as fast as the baseline");
  f("time", x.time).required().about("That it is of");
  f("floor_us", x.floor.time.value).finite().positive();
  f("floor_why", x.floor.why);
}

std::optional<SolScore> sol_score(const FinalRecord& best, const FinalRecord& baseline, Time time,
                                  const Environment& environment) {
  const auto& timing = timing_of(best, time);
  const auto& rival = timing_of(baseline, time);
  const PhysicsFloor floors = physics_floor(best.problem, environment);
  if (!timing || !rival || !floors.unknown.empty()) return std::nullopt;
  const Floor& floor = floors.of(time);
  const auto score = sol_score(Micros(timing->median_us), Micros(rival->median_us), floor.time);
  if (!score) return std::nullopt;
  return SolScore{*score, time, floor};
}

std::optional<SolScore> sol_score(const ProblemResult& result, Objective objective,
                                  const Environment& environment) {
  if (!result.gate || result.best() == nullptr) return std::nullopt;
  const auto baseline = std::ranges::find_if(result.finals, [&](const FinalRecord& record) {
    return record.is_baseline() && record.impl == result.gate->baseline;
  });
  if (baseline == result.finals.end()) return std::nullopt;
  return sol_score(*result.best(), *baseline, final_time(result.finals, objective), environment);
}

}  // namespace fatune
