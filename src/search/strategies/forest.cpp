// forest.cpp - grows a tree by the splits that leave the least squared error.
#include "search/strategies/forest.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace fatune {
namespace {

// As in Hutter, Hoos, Leyton-Brown 2014 (their forest is SMAC's): 5 of 6 axes are looked at in each
// node.
constexpr double kAxisShare = 5.0 / 6.0;
constexpr std::size_t kSmallestSplit = 4;  // samples of a node that may still be split; chosen

struct Split {
  std::size_t axis = 0;
  std::vector<bool> left;  ///< for each value of the axis
  double gain = 0;         ///< of squared error
};

class Grower {
 public:
  Grower(const std::vector<Axis>& axes, std::span<const Point> points,
         std::span<const double> values, Rng& rng)
      : axes_(axes), points_(points), values_(values), rng_(rng) {
    for (const Axis& axis : axes) whole_.allowed.emplace_back(axis.size, true);
  }

  std::vector<Box> grow() {
    std::vector<std::size_t> samples(points_.size());
    for (std::size_t& sample : samples) {
      sample = static_cast<std::size_t>(rng_.below(points_.size()));
    }
    grow_node(samples, whole_);
    return std::move(leaves_);
  }

 private:
  struct Tally {
    double count = 0, sum = 0;
    double mean() const { return sum / count; }
    /// What the squared error shrinks by when the tally gets its own mean.
    double explained() const { return count > 0 ? sum * sum / count : 0; }
    void add(const Tally& other) {
      count += other.count;
      sum += other.sum;
    }
  };

  void grow_node(std::span<std::size_t> samples, Box box) {
    Tally all;
    for (const std::size_t sample : samples) all.add({1, values_[sample]});
    box.value = all.mean();
    std::optional<Split> split;
    if (samples.size() >= kSmallestSplit) split = best_split(samples, all);
    if (!split) {
      leaves_.push_back(std::move(box));
      return;
    }
    const auto middle = std::partition(samples.begin(), samples.end(), [&](std::size_t sample) {
      return split->left[points_[sample][split->axis]];
    });
    const auto lefts = static_cast<std::size_t>(middle - samples.begin());
    Box right = box;
    for (std::size_t value = 0; value < split->left.size(); ++value) {
      if (split->left[value]) right.allowed[split->axis][value] = false;
      if (!split->left[value]) box.allowed[split->axis][value] = false;
    }
    grow_node(samples.first(lefts), std::move(box));
    grow_node(samples.subspan(lefts), std::move(right));
  }

  std::optional<Split> best_split(std::span<const std::size_t> samples, const Tally& all) {
    std::vector<std::size_t> order(axes_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i-- > 1;) std::swap(order[i], order[rng_.below(i + 1)]);
    const auto wanted =
        static_cast<std::size_t>(std::ceil(kAxisShare * static_cast<double>(order.size())));
    std::optional<Split> best;
    std::size_t looked_at = 0;
    for (const std::size_t axis : order) {
      if (looked_at >= wanted && best) break;
      ++looked_at;
      auto split = split_axis(samples, all, axis);
      if (split && (!best || split->gain > best->gain)) best = std::move(split);
    }
    return best;
  }

  /// The best cut of the axis's values, put in order: their own, or for words that of their means,
  /// in which the best of all groupings is a cut (Fisher 1958).
  std::optional<Split> split_axis(std::span<const std::size_t> samples, const Tally& all,
                                  std::size_t axis) {
    std::vector<Tally> tallies(axes_[axis].size);
    for (const std::size_t sample : samples) {
      tallies[points_[sample][axis]].add({1, values_[sample]});
    }
    std::vector<std::size_t> present;
    for (std::size_t value = 0; value < tallies.size(); ++value) {
      if (tallies[value].count > 0) present.push_back(value);
    }
    if (!axes_[axis].ordinal) {
      std::stable_sort(present.begin(), present.end(), [&](std::size_t a, std::size_t b) {
        return tallies[a].mean() < tallies[b].mean();
      });
    }
    std::optional<std::size_t> cut;
    double most = 1e-12 * (1 + all.explained());  // less is rounding
    Tally left;
    for (std::size_t i = 0; i + 1 < present.size(); ++i) {
      left.add(tallies[present[i]]);
      const Tally right{all.count - left.count, all.sum - left.sum};
      const double gain = left.explained() + right.explained() - all.explained();
      if (gain <= most) continue;
      most = gain;
      cut = i;
    }
    if (!cut) return std::nullopt;
    Split split{axis, side_of_cut(axis, present, *cut), most};
    return split;
  }

  /// Which values go left. Those without a sample here go with their nearest neighbour; of words,
  /// all to the right.
  std::vector<bool> side_of_cut(std::size_t axis, const std::vector<std::size_t>& present,
                                std::size_t cut) const {
    std::vector<bool> left(axes_[axis].size, false);
    if (axes_[axis].ordinal) {
      const std::size_t threshold = (present[cut] + present[cut + 1]) / 2;
      for (std::size_t value = 0; value <= threshold; ++value) left[value] = true;
    } else {
      for (std::size_t i = 0; i <= cut; ++i) left[present[i]] = true;
    }
    return left;
  }

  const std::vector<Axis>& axes_;
  std::span<const Point> points_;
  std::span<const double> values_;
  Rng& rng_;
  Box whole_;
  std::vector<Box> leaves_;
};

}  // namespace

std::vector<Box> grow_tree(const std::vector<Axis>& axes, std::span<const Point> points,
                           std::span<const double> values, Rng& rng) {
  return Grower(axes, points, values, rng).grow();
}

}  // namespace fatune
