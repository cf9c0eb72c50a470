// importance.hpp - tried points and their costs to what each parameter explains of the variance.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "search/datasets/recording.hpp"

namespace fatune {

/// Shares of the variance, between 0 and 1; all of them and `rest` add up to 1, unless nothing
/// varies: then all are 0.
struct ParameterImportance {
  struct Single {
    std::string name;
    double share = 0;
  };
  struct Pair {
    std::string first, second;  ///< in the order of the axes
    double share = 0;           ///< beyond what each of them explains alone
  };
  std::vector<Single> singles;  ///< largest share first
  std::vector<Pair> pairs;      ///< likewise
  double rest = 0;              ///< three parameters and more at once
  std::uint64_t measured = 0;   ///< points it was computed from
  std::uint64_t failed = 0;     ///< points without a cost, left out
};

/// Functional ANOVA of a regression forest (Hutter, Hoos, Leyton-Brown: An Efficient Approach for
/// Assessing Hyperparameter Importance, ICML 2014): a forest of regression trees (Breiman 2001) is
/// fitted to the costs, and each tree, which is constant on boxes, is taken apart exactly into the
/// effects of one parameter, of two, and the rest, every combination of values weighing the same.
/// So it does not matter that a search measured some regions more often than others; values that
/// no measured point has do not count. Points are paired with costs by position. Give logarithms of
/// times, so that factors become sums. Deterministic.
ParameterImportance parameter_importance(const std::vector<Axis>& axes,
                                         std::span<const Point> points,
                                         std::span<const std::optional<double>> costs);

/// Measured configs below which shares are chance; chosen.
inline constexpr std::uint64_t kFewestForImportance = 20;

/// Of the logarithm of the cost, so that factors become sums; of the cost itself where one is not
/// positive.
ParameterImportance importance_of(const Recording& recording);
void fields(ParameterImportance::Single& x, FieldList& f);
void fields(ParameterImportance::Pair& x, FieldList& f);
void fields(ParameterImportance& x, FieldList& f);

}  // namespace fatune
