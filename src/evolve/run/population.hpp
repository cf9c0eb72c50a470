// population.hpp - trials to elites, parents, insights and speed-ups, by the rules of the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evolve/protocol/request.hpp"
#include "evolve/trial/trial.hpp"

namespace fatune {

inline constexpr std::size_t kElites = 3;  ///< by the geomean of speed-ups over the problems
/// A move is discarded when it makes its parent slower by more than this on so many problems.
inline constexpr double kWorstRegression = 1.10;
inline constexpr std::size_t kMostRegressions = 2;

/// The rules in words, for proposers.
std::vector<StatedRule> population_rules();

class TrialPopulation {
 public:
  enum class RankedBy { kTime, kAge };  ///< age: without times, the newest that compiled
  explicit TrialPopulation(RankedBy ranked_by = RankedBy::kTime) : ranked_by_(ranked_by) {}

  /// Fills in speed-up, gain, verdict, step and best of a trial whose shapes are known, and takes
  /// it in; one that has no shapes is invalid.
  const Trial& add(Trial trial);

  /// Of the trial added last.
  const Trial& add_profile(std::string words);

  const std::vector<Trial>& trials() const { return trials_; }
  const Trial& start() const { return trials_.front(); }
  const Trial& best() const { return trials_[elites_.front()]; }
  std::vector<const Trial*> elites() const;
  const Trial* find(std::string_view id) const;
  /// One with the same texts; null: none.
  const Trial* same_as(std::string_view key) const;

  /// The first is drawn by rank, the second among the others: 1 / (rank + elites), as in
  /// EvoEngineer. Free and insight take the best.
  std::vector<const Trial*> parents(ProposerMode mode, std::size_t count, std::uint64_t seed) const;
  /// Three that are drawn of all.
  std::vector<ToldInsight> insights(std::uint64_t seed) const;
  /// The last three, newest last.
  std::vector<ToldFailure> failures() const;
  std::vector<ToldTrial> history() const;

 private:
  void judge(Trial& trial) const;
  void select(Trial& trial);
  std::size_t regressions(const Trial& trial, const Trial& parent) const;

  RankedBy ranked_by_;
  std::vector<Trial> trials_;
  std::vector<std::size_t> elites_;  ///< places, the best first
};

/// Whether it passed on every problem.
bool passed_everywhere(const Trial& trial, TrialPopulation::RankedBy ranked_by);
/// A kernel as proposers are told.
ToldKernel told(const Trial& trial);

}  // namespace fatune
