// forest.hpp - points and values to regression trees, as the boxes on which each is constant.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/space/lattice.hpp"
#include "search/strategies/rng.hpp"

namespace fatune {

/// A leaf of a regression tree: which values of each axis lead to it, and its prediction.
struct Box {
  std::vector<std::vector<bool>> allowed;
  double value = 0;
};

/// The leaves of a tree grown on a bootstrap sample of the data (Breiman 2001). Numbers are split
/// at a threshold; words into two groups, by their mean value in the node. The boxes do not overlap
/// and cover all points. There must be data.
std::vector<Box> grow_tree(const std::vector<Axis>& axes, std::span<const Point> points,
                           std::span<const double> values, Rng& rng);

}  // namespace fatune
