// landscape.hpp - a recording's costs to what random search finds, and parameters explain.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "search/datasets/recording.hpp"
#include "search/strategies/importance.hpp"

namespace fatune {

/// Costs of a whole space, less is better. A config without one failed. As long as a search has
/// seen nothing but failures, its best is the worst cost there is.
class Landscape {
 public:
  /// Fails when no config has a cost; `where` begins the message.
  static Result<Landscape> build(std::span<const std::optional<double>> costs,
                                 const std::string& where);

  const std::vector<double>& sorted() const { return sorted_; }  ///< ascending, failures left out
  std::uint64_t size() const { return size_; }                   ///< failures included
  std::uint64_t failures() const { return size_ - sorted_.size(); }
  double optimum() const { return sorted_.front(); }
  double worst() const { return sorted_.back(); }
  double median() const;

  /// Exactly what the best of t distinct random configs is on average, for t = 0 to `most` (at
  /// most the whole space): the sum over ranks of the chance that a hypergeometric draw misses all
  /// better ones, times the step in cost to that rank.
  std::vector<double> expected_best(std::uint64_t most) const;

  /// How much of the optimum is reached: 1 there, optimum / cost for times. Costs below zero are
  /// rates or scores with their sign turned, for which it is cost / optimum.
  double fraction_of_optimum(double cost) const;
  /// (cost - optimum) / |optimum|; the plain difference when the optimum is zero.
  double excess(double cost) const;

 private:
  std::vector<double> sorted_;
  std::uint64_t size_ = 0;
};

/// Measured configs below which shares are chance; chosen.
inline constexpr std::uint64_t kFewestForImportance = 20;

/// Of the logarithm of the cost, so that factors become sums; of the cost itself where one is not
/// positive.
ParameterImportance importance_of(const Recording& recording);
void fields(ParameterImportance::Single& x, FieldList& f);
void fields(ParameterImportance::Pair& x, FieldList& f);
void fields(ParameterImportance& x, FieldList& f);

}  // namespace fatune
