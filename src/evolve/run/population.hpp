// population.hpp: Selects elites and parents from a run's trials and computes speed-ups.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "evolve/protocol/request.hpp"
#include "evolve/trial/trial.hpp"

namespace fatune {

inline constexpr std::size_t kElites = 3;  ///< ranked by the geomean of speed-ups over the problems
/// Discards a move that makes its parent slower by more than this ratio on this many problems.
inline constexpr double kWorstRegression = 1.10;
inline constexpr std::size_t kMostRegressions = 2;

/// Returns the rules in words, for proposers.
std::vector<StatedRule> population_rules();

class TrialPopulation {
 public:
  enum class RankedBy { kTime, kAge };  ///< kAge ranks by newest compiled trial, without times
  explicit TrialPopulation(RankedBy ranked_by = RankedBy::kTime) : ranked_by_(ranked_by) {}

  /// Computes a trial's results and adds the trial. A trial without shapes is invalid.
  const Trial& add(Trial trial);

  /// Adds the profile of the latest trial.
  const Trial& add_profile(std::string words);

  const std::vector<Trial>& trials() const { return trials_; }
  const Trial& start() const { return trials_.front(); }
  const Trial& best() const { return trials_[elites_.front()]; }
  std::vector<const Trial*> elites() const;
  const Trial* find(std::string_view id) const;
  /// Returns the trial with equal texts; null if there is none.
  const Trial* same_as(std::string_view key) const;

  /// Draws the first parent by rank and the second among the others, with weight 1 / (rank +
  /// elites) as in EvoEngineer. Free and insight mode take the best.
  std::vector<const Trial*> parents(ProposerMode mode, std::size_t count, std::uint64_t seed) const;
  /// Draws three trials with an insight, a thought or a lever at random.
  std::vector<const Trial*> insights(std::uint64_t seed) const;
  /// Returns the latest three failures, newest last.
  std::vector<const Trial*> failures() const;

 private:
  void judge(Trial& trial) const;
  void select(Trial& trial);
  std::size_t regressions(const Trial& trial, const Trial& parent) const;

  RankedBy ranked_by_;
  std::vector<Trial> trials_;
  std::vector<std::size_t> elites_;  ///< positions of the elites, best first
};

/// Returns whether the trial passed on every problem.
bool passed_everywhere(const Trial& trial, TrialPopulation::RankedBy ranked_by);

}  // namespace fatune
