// importance.cpp: Computes functional ANOVA shares from a random forest.
#include "search/strategies/importance.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/fields.hpp"
#include "model/results/statistics.hpp"
#include "search/strategies/rng.hpp"

namespace fatune {
namespace {

/// A leaf of a regression tree: the values of each axis that lead to it, and its prediction.
struct Box {
  std::vector<std::vector<bool>> allowed;
  double value = 0;
};

// As in Hutter, Hoos, Leyton-Brown 2014 (SMAC's forest): each node considers 5 of 6 axes.
constexpr double kAxisShare = 5.0 / 6.0;
constexpr std::size_t kSmallestSplit = 4;  // samples of a node that may still be split; chosen

struct Split {
  std::size_t axis = 0;
  std::vector<bool> left;  ///< whether each value of the axis goes left
  double gain = 0;         ///< reduction of the squared error
};

/// Grows a regression tree on a bootstrap sample (Breiman 2001). Numbers are split at a threshold.
/// Words are split into two groups by their mean cost in the node.
class Grower {
 public:
  Grower(const std::vector<Axis>& axes, std::span<const Point> points,
         std::span<const double> values, Rng& rng)
      : axes_(axes), points_(points), values_(values), rng_(rng) {
    for (const Axis& axis : axes) whole_.allowed.emplace_back(axis.size, true);
  }

  /// Returns the leaves, which cover all points without overlap. The data must not be empty.
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
    /// Returns the reduction of the squared error when the tally gets its own mean.
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
    const auto wanted =
        static_cast<std::size_t>(std::ceil(kAxisShare * static_cast<double>(axes_.size())));
    std::optional<Split> best;
    std::size_t looked_at = 0;
    for (const std::size_t axis : rng_.order(axes_.size())) {
      if (looked_at++ >= wanted && best) break;
      auto split = split_axis(samples, all, axis);
      if (split && (!best || split->gain > best->gain)) best = std::move(split);
    }
    return best;
  }

  /// Returns the best cut of the axis's values in order. Numbers are ordered by value and words by
  /// mean cost; then the best grouping is a cut (Fisher 1958).
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
      std::ranges::stable_sort(present, {},
                               [&](std::size_t value) { return tallies[value].mean(); });
    }
    std::optional<std::size_t> cut;
    double most = 1e-12 * (1 + all.explained());  // smaller gains are rounding
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
    return Split{axis, side_of_cut(axis, present, *cut), most};
  }

  /// Returns the values that go left. A number without a sample here goes with its nearest
  /// neighbour; a word without a sample goes right.
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

constexpr std::size_t kTrees = 16;               // chosen: shares settle to about a percent
constexpr std::uint64_t kForestSeed = 20140621;  // arbitrary; fixed for equal shares

struct Measured {
  std::vector<Point> points;
  std::vector<double> costs;  ///< centred to mean 0
};

Measured measured_of(std::span<const Point> points, std::span<const std::optional<double>> costs) {
  Measured sample;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!costs[i]) continue;
    sample.points.push_back(points[i]);
    sample.costs.push_back(*costs[i]);
  }
  const double middle = mean(sample.costs);
  for (double& cost : sample.costs) cost -= middle;
  return sample;
}

double mean_square(const std::vector<double>& values) {
  const double sum = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  return sum / static_cast<double>(values.size());
}

/// Variances of one tree's effects, over all combinations of the measured values.
class Effects {
 public:
  Effects(const std::vector<Axis>& axes, const Measured& sample) {
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      std::vector<bool> seen(axes[axis].size, false);
      for (const Point& point : sample.points) seen[point[axis]] = true;
      used_.emplace_back();
      for (std::size_t value = 0; value < seen.size(); ++value) {
        if (seen[value]) used_.back().push_back(value);
      }
    }
    const std::size_t count = axes.size();
    singles.assign(count, 0);
    pairs.assign(count * count, 0);
    together_.resize(count * count);
    for (std::size_t i = 0; i < count; ++i) {
      alone_.emplace_back(used_[i].size());
      for (std::size_t j = i + 1; j < count; ++j)
        together_[i * count + j].resize(used_[i].size() * used_[j].size());
    }
  }

  /// Decomposes one tree: fills total, singles and pairs.
  void decompose(const std::vector<Box>& boxes) {
    total = 0;
    for (std::vector<double>& means : alone_) std::ranges::fill(means, 0);
    for (std::vector<double>& means : together_) std::ranges::fill(means, 0);
    for (const Box& box : boxes) add(box);
    const double middle = mean(alone_[0]);
    total -= middle * middle;
    const std::size_t count = used_.size();
    for (std::size_t i = 0; i < count; ++i) {
      singles[i] = std::max(0.0, mean_square(alone_[i]) - middle * middle);
    }
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = i + 1; j < count; ++j) {
        const double both = mean_square(together_[i * count + j]) - middle * middle;
        pairs[i * count + j] = std::max(0.0, both - singles[i] - singles[j]);
      }
    }
  }

  double total = 0;
  std::vector<double> singles;  ///< for each axis
  std::vector<double> pairs;    ///< at first * axes + second with first < second

 private:
  /// Adds a box to the marginal means that contain it.
  void add(const Box& box) {
    const std::size_t count = used_.size();
    std::vector<std::vector<std::size_t>> inside(count);  ///< measured places of each axis
    std::vector<double> share(count);
    double volume = 1;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t place = 0; place < used_[i].size(); ++place) {
        if (box.allowed[i][used_[i][place]]) inside[i].push_back(place);
      }
      share[i] = static_cast<double>(inside[i].size()) / static_cast<double>(used_[i].size());
      volume *= share[i];
    }
    if (volume == 0) return;
    total += volume * box.value * box.value;
    for (std::size_t i = 0; i < count; ++i) {
      const double one = volume * box.value / share[i];
      for (const std::size_t place : inside[i]) alone_[i][place] += one;
      for (std::size_t j = i + 1; j < count; ++j) {
        const double two = one / share[j];
        std::vector<double>& table = together_[i * count + j];
        for (const std::size_t row : inside[i]) {
          for (const std::size_t place : inside[j]) table[row * used_[j].size() + place] += two;
        }
      }
    }
  }

  std::vector<std::vector<std::size_t>> used_;  ///< measured values of each axis
  std::vector<std::vector<double>> alone_;      ///< mean prediction for each value of an axis
  std::vector<std::vector<double>> together_;   ///< for each two values of two axes
};

constexpr double kJsonDigits = 1e4;

double rounded(double share) { return std::round(share * kJsonDigits) / kJsonDigits; }

}  // namespace

ParameterImportance parameter_importance(const std::vector<Axis>& axes,
                                         std::span<const Point> points,
                                         std::span<const std::optional<double>> costs) {
  FATUNE_CHECK(points.size() == costs.size(), "each point has a cost or has failed");
  const Measured sample = measured_of(points, costs);
  ParameterImportance result;
  result.measured = sample.points.size();
  result.failed = points.size() - sample.points.size();
  const std::size_t count = axes.size();
  std::vector<double> singles(count, 0), pairs(count * count, 0);
  double trees = 0;
  if (!sample.points.empty() && count > 0) {
    Effects effects(axes, sample);
    Rng rng(kForestSeed);
    for (std::size_t tree = 0; tree < kTrees; ++tree) {
      effects.decompose(Grower(axes, sample.points, sample.costs, rng).grow());
      if (effects.total <= 0) continue;
      ++trees;
      for (std::size_t i = 0; i < count; ++i) singles[i] += effects.singles[i] / effects.total;
      for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] += effects.pairs[i] / effects.total;
    }
  }
  const double scale = trees > 0 ? 1 / trees : 0;
  result.rest = trees > 0 ? 1 : 0;
  for (std::size_t i = 0; i < count; ++i) {
    result.singles.push_back({axes[i].name, singles[i] * scale});
    for (std::size_t j = i + 1; j < count; ++j) {
      result.pairs.push_back({axes[i].name, axes[j].name, pairs[i * count + j] * scale});
      result.rest -= result.pairs.back().share;
    }
    result.rest -= result.singles.back().share;
  }
  result.rest = std::max(0.0, result.rest);
  std::ranges::stable_sort(result.singles, std::greater<>(), &ParameterImportance::Single::share);
  std::ranges::stable_sort(result.pairs, std::greater<>(), &ParameterImportance::Pair::share);
  return result;
}

ParameterImportance importance_of(const Recording& recording) {
  const bool positive = all_positive(recording);
  std::vector<Point> points;
  std::vector<std::optional<double>> costs;
  for (std::uint64_t i = 0; i < recording.lattice.size(); ++i) {
    points.push_back(recording.lattice.point(i));
    std::optional<double> cost = recording.entries[i].cost;
    if (cost && positive) cost = std::log(*cost);
    costs.push_back(cost);
  }
  return parameter_importance(recording.lattice.axes(), points, costs);
}

void fields(ParameterImportance::Single& x, FieldList& f) {
  f("name", x.name);
  f.derived("share", rounded(x.share)).finite();
}

void fields(ParameterImportance::Pair& x, FieldList& f) {
  f("first", x.first);
  f("second", x.second);
  f.derived("share", rounded(x.share)).finite();
}

void fields(ParameterImportance& x, FieldList& f) {
  const bool unknown = x.measured < kFewestForImportance;
  f.record("importance", "Shares of the variance; absent where too few configs were measured");
  f("measured", x.measured);
  f("failed", x.failed);
  f("parameters", x.singles).absent_if(unknown);
  f("pairs", x.pairs).absent_if(unknown);
  f.derived("rest", rounded(x.rest)).finite().absent_if(unknown);
}

}  // namespace fatune
