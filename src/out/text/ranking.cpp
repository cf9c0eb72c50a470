// ranking.cpp - sorts candidates and shares places among equals.
#include "out/text/ranking.hpp"

#include <algorithm>
#include <cmath>

#include "model/results/sweep_result.hpp"

namespace fatune {
namespace {

constexpr double kTieErrors = 2.0;  // about a 95 % interval of the difference

bool ties(const Timing& a, const Timing& b) {
  const double error = std::hypot(a.sem_relative * a.median_us, b.sem_relative * b.median_us);
  return std::abs(a.median_us - b.median_us) <= kTieErrors * error;
}

}  // namespace

std::vector<Ranked> rank_candidates(std::span<const CandidateRecord> candidates,
                                    const std::string& objective) {
  std::vector<Ranked> ranked;
  for (const CandidateRecord& record : candidates) {
    const bool timed = objective_timing(record, objective).has_value();
    if (record.outcome == Outcome::kMeasured && timed) ranked.push_back({&record, 0});
  }
  const auto timing = [&](const Ranked& entry) -> const Timing& {
    return *objective_timing(*entry.record, objective);
  };
  std::stable_sort(ranked.begin(), ranked.end(), [&](const Ranked& a, const Ranked& b) {
    return timing(a).median_us < timing(b).median_us;
  });
  std::size_t first = 0;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    if (!ties(timing(ranked[first]), timing(ranked[i]))) first = i;
    ranked[i].place = first + 1;
  }
  return ranked;
}

}  // namespace fatune
