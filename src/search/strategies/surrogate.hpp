// surrogate.hpp: Ranks untried points by expected improvement under a Gaussian process.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "model/space/lattice.hpp"
#include "search/strategies/gaussian_process.hpp"
#include "search/strategies/rng.hpp"

namespace fatune {

/// Models the logarithm of the cost, or the cost itself where one is not positive. Failures and
/// costs above the third quartile of the successes are set to the quartile: how slow a slow config
/// is says little about the best. `space` need not outlive it.
class Surrogate {
 public:
  explicit Surrogate(const Lattice& space) : process_(space) {}

  void tell(const Point& point, std::optional<double> cost);
  /// True once two costs differ.
  bool ready() const { return least_ < most_; }
  /// Refits the hyper-parameters if enough costs were told since the last fit; true when it did.
  /// Until the next fit, repeated candidates are cheap to predict. ready() must hold.
  bool refresh(Rng& rng);
  /// Returns the places of the `count` candidates with the largest expected improvement beyond a
  /// small gain, largest first. Points in `pending` are assumed to cost what the model predicts, so
  /// that candidates close to them gain little. Candidates must be distinct and not empty; ready()
  /// must hold.
  std::vector<std::size_t> most_promising(std::span<const Point> candidates,
                                          std::span<const Point> pending, std::size_t count);

 private:
  /// Returns the `best` places by cost and a sample of the others, `count` in all, ascending.
  std::vector<std::size_t> best_and_sample(std::vector<std::size_t> places, std::size_t best,
                                           std::size_t count, Rng& rng) const;
  void learn(Rng& rng);
  /// Returns the model's values for the costs at seen_.
  std::vector<double> values() const;

  GaussianProcess process_;
  std::vector<Point> told_;
  std::vector<double> costs_;      ///< infinite for a failure
  std::vector<std::size_t> seen_;  ///< places that the model uses; all while they are few
  std::vector<Point> seen_points_;
  std::size_t told_when_learnt_ = 0;
  double least_ = std::numeric_limits<double>::infinity();
  double most_ = -std::numeric_limits<double>::infinity();
};

}  // namespace fatune
