// landscape.cpp - sorts costs and draws from them without replacement, exactly.
#include "search/replay/landscape.hpp"

#include <algorithm>
#include <cmath>

namespace fatune {

Result<Landscape> Landscape::build(std::span<const std::optional<double>> costs,
                                   const std::string& where) {
  Landscape landscape;
  landscape.size_ = costs.size();
  for (const auto& cost : costs) {
    if (cost) landscape.sorted_.push_back(*cost);
  }
  if (landscape.sorted_.empty()) {
    return file_error(where + ": none of the " + std::to_string(costs.size()) +
                      " configs was measured, so there is nothing to score");
  }
  std::sort(landscape.sorted_.begin(), landscape.sorted_.end());
  return landscape;
}

double Landscape::median() const {
  const std::size_t middle = sorted_.size() / 2;
  return sorted_.size() % 2 == 1 ? sorted_[middle] : 0.5 * (sorted_[middle - 1] + sorted_[middle]);
}

std::vector<double> Landscape::expected_best(std::uint64_t most) const {
  std::vector<double> expected{worst()};
  const auto all = static_cast<double>(size_);
  for (std::uint64_t t = 1; t <= std::min(most, size_); ++t) {
    const auto drawn = static_cast<double>(t);
    double sum = optimum();
    double missed = 1;  // chance that all t draws miss the `rank` best configs
    for (std::size_t rank = 1; rank < sorted_.size() && missed > 0; ++rank) {
      const double left = all - static_cast<double>(rank) + 1;  // configs not among rank - 1 best
      missed *= std::max(0.0, (left - drawn) / left);
      sum += missed * (sorted_[rank] - sorted_[rank - 1]);
    }
    expected.push_back(sum);
  }
  return expected;
}

double Landscape::fraction_of_optimum(double cost) const {
  if (cost == optimum()) return 1;
  return optimum() > 0 ? optimum() / cost : optimum() < 0 ? cost / optimum() : 0;
}

double Landscape::excess(double cost) const {
  const double scale = std::abs(optimum());
  return (cost - optimum()) / (scale > 0 ? scale : 1);
}

}  // namespace fatune
