// importance.hpp: Estimates the share of the cost's variance that each parameter explains.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "search/datasets/recording.hpp"

namespace fatune {

/// Shares of the variance, between 0 and 1. They and `rest` add up to 1; all are 0 if nothing
/// varies.
struct ParameterImportance {
  struct Single {
    std::string name;
    double share = 0;
  };
  struct Pair {
    std::string first, second;  ///< in the order of the axes
    double share = 0;           ///< beyond the shares of the two parameters alone
  };
  std::vector<Single> singles;  ///< largest share first
  std::vector<Pair> pairs;      ///< largest share first
  double rest = 0;              ///< share of interactions of three or more parameters
  std::uint64_t measured = 0;   ///< points with a cost
  std::uint64_t failed = 0;     ///< points without a cost, which are left out
};

/// Functional ANOVA of a regression forest (Hutter, Hoos, Leyton-Brown: An Efficient Approach for
/// Assessing Hyperparameter Importance, ICML 2014). Each tree (Breiman 2001) is constant on boxes.
/// It is decomposed exactly into effects of one parameter, of two, and the rest. Every combination
/// of values has equal weight, so regions that a search sampled more often do not dominate. Values
/// without a measured point are ignored. `points` and `costs` are paired by position. Costs should
/// be logarithms of times, so that factors become sums. The result is deterministic.
ParameterImportance parameter_importance(const std::vector<Axis>& axes,
                                         std::span<const Point> points,
                                         std::span<const std::optional<double>> costs);

/// Number of measured configs below which shares are noise; chosen.
inline constexpr std::uint64_t kFewestForImportance = 20;

/// Uses the logarithm of the costs, so that factors become sums; the costs where one is not
/// positive.
ParameterImportance importance_of(const Recording& recording);
void fields(ParameterImportance::Single& x, FieldList& f);
void fields(ParameterImportance::Pair& x, FieldList& f);
void fields(ParameterImportance& x, FieldList& f);

}  // namespace fatune
