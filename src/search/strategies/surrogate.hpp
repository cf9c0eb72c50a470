// surrogate.hpp - observed costs to a model that ranks untried points by expected improvement.
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

/// Models the logarithm of the cost (the cost itself, where one is not positive). What is slower
/// than three quarters of the successes, and every failure, counts as just that slow: how bad the
/// bad ones are says little of where the best is. `space` need not outlive it.
class Surrogate {
 public:
  explicit Surrogate(const Lattice& space) : process_(space) {}

  void tell(const Point& point, std::optional<double> cost);
  /// Two costs that differ are needed.
  bool ready() const { return least_ < most_; }
  /// Learns again how much each parameter matters, where enough was told since it last did; true
  /// when it has. Until the next time, candidates that it was asked about before are cheap.
  /// ready() must hold.
  bool refresh(Rng& rng);
  /// The places of the `count` candidates, or of all, with the largest expected improvement beyond
  /// a small one, the largest first. Points in `pending` are believed to have come out as the model
  /// expects, so that candidates close to them gain little. There must be a candidate, none twice,
  /// and ready().
  std::vector<std::size_t> most_promising(std::span<const Point> candidates,
                                          std::span<const Point> pending, std::size_t count);

 private:
  /// Of `places`, the `best` by cost and a sample of the others: `count` in all, ascending.
  std::vector<std::size_t> best_and_sample(std::vector<std::size_t> places, std::size_t best,
                                           std::size_t count, Rng& rng) const;
  void learn(Rng& rng);
  /// What the costs at seen_ are to the model.
  std::vector<double> values() const;

  GaussianProcess process_;
  std::vector<Point> told_;
  std::vector<double> costs_;      ///< infinite: failed
  std::vector<std::size_t> seen_;  ///< places of what the model sees; all, while they are few
  std::vector<Point> seen_points_;
  std::size_t told_when_learnt_ = 0;
  double least_ = std::numeric_limits<double>::infinity();
  double most_ = -std::numeric_limits<double>::infinity();
};

}  // namespace fatune
