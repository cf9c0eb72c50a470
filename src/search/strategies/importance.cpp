// importance.cpp - takes a forest apart into effects of single parameters and of pairs.
#include "search/strategies/importance.hpp"

#include <algorithm>
#include <numeric>

#include "search/strategies/forest.hpp"

namespace fatune {
namespace {

constexpr std::size_t kTrees = 16;         // chosen: shares settle to about a percent
constexpr std::uint64_t kSeed = 20140621;  // any; fixed, so that the same data give the same shares

struct Sample {
  std::vector<Point> points;
  std::vector<double> costs;  ///< with mean 0
};

Sample measured_of(std::span<const Point> points, std::span<const std::optional<double>> costs) {
  Sample sample;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!costs[i]) continue;
    sample.points.push_back(points[i]);
    sample.costs.push_back(*costs[i]);
  }
  const double sum = std::accumulate(sample.costs.begin(), sample.costs.end(), 0.0);
  for (double& cost : sample.costs) cost -= sum / static_cast<double>(sample.costs.size());
  return sample;
}

double mean_square(const std::vector<double>& values) {
  const double sum = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  return sum / static_cast<double>(values.size());
}

/// Variances of one tree's effects, over all combinations of the values that were measured.
class Effects {
 public:
  Effects(const std::vector<Axis>& axes, const Sample& sample) {
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
    alone_.resize(count);
    together_.resize(count * count);
  }

  /// Takes one tree apart: fills total, singles and pairs.
  void take_apart(const std::vector<Box>& boxes) {
    clear();
    for (const Box& box : boxes) add(box);
    const double mean = std::accumulate(alone_[0].begin(), alone_[0].end(), 0.0) /
                        static_cast<double>(alone_[0].size());
    total -= mean * mean;
    const std::size_t count = used_.size();
    for (std::size_t i = 0; i < count; ++i) {
      singles[i] = std::max(0.0, mean_square(alone_[i]) - mean * mean);
    }
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = i + 1; j < count; ++j) {
        const double both = mean_square(together_[i * count + j]) - mean * mean;
        pairs[i * count + j] = std::max(0.0, both - singles[i] - singles[j]);
      }
    }
  }

  double total = 0;
  std::vector<double> singles;  ///< for each axis
  std::vector<double> pairs;    ///< at first * axes + second, first < second

 private:
  void clear() {
    total = 0;
    const std::size_t count = used_.size();
    for (std::size_t i = 0; i < count; ++i) {
      alone_[i].assign(used_[i].size(), 0);
      for (std::size_t j = i + 1; j < count; ++j) {
        together_[i * count + j].assign(used_[i].size() * used_[j].size(), 0);
      }
    }
  }

  /// Adds a box to the marginal means that it is part of.
  void add(const Box& box) {
    const std::size_t count = used_.size();
    std::vector<std::vector<std::size_t>> inside(count);  ///< places among the used values
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

  std::vector<std::vector<std::size_t>> used_;  ///< of each axis, the values that were measured
  std::vector<std::vector<double>> alone_;      ///< mean prediction for each value of an axis
  std::vector<std::vector<double>> together_;   ///< for each two values of two axes
};

}  // namespace

ParameterImportance parameter_importance(const std::vector<Axis>& axes,
                                         std::span<const Point> points,
                                         std::span<const std::optional<double>> costs) {
  FATUNE_CHECK(points.size() == costs.size(), "each point has a cost or has failed");
  const Sample sample = measured_of(points, costs);
  ParameterImportance result;
  result.measured = sample.points.size();
  result.failed = points.size() - sample.points.size();
  const std::size_t count = axes.size();
  std::vector<double> singles(count, 0), pairs(count * count, 0);
  double trees = 0;
  if (!sample.points.empty() && count > 0) {
    Effects effects(axes, sample);
    Rng rng(kSeed);
    for (std::size_t tree = 0; tree < kTrees; ++tree) {
      effects.take_apart(grow_tree(axes, sample.points, sample.costs, rng));
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
  const auto larger = [](const auto& a, const auto& b) { return a.share > b.share; };
  std::stable_sort(result.singles.begin(), result.singles.end(), larger);
  std::stable_sort(result.pairs.begin(), result.pairs.end(), larger);
  return result;
}

}  // namespace fatune
