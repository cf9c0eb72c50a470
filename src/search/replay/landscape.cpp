// landscape.cpp - exact draws from sorted costs, and shares of their variance.
#include "search/replay/landscape.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "model/results/statistics.hpp"

namespace fatune {
namespace {

constexpr double kJsonDigits = 1e4;

double rounded(double share) { return std::round(share * kJsonDigits) / kJsonDigits; }

}  // namespace

Result<Landscape> Landscape::build(std::span<const std::optional<double>> costs,
                                   const std::string& where) {
  Landscape landscape;
  landscape.size_ = costs.size();
  for (const auto& cost : costs) {
    if (cost) landscape.sorted_.push_back(*cost);
  }
  if (landscape.sorted_.empty()) {
    return file_error(
        fmt::format("{}: none of the {} configs was measured, so there is nothing to score", where,
                    costs.size()));
  }
  std::sort(landscape.sorted_.begin(), landscape.sorted_.end());
  return landscape;
}

double Landscape::median() const { return fatune::median(sorted_); }

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

ParameterImportance importance_of(const Recording& recording) {
  const bool positive =
      std::all_of(recording.entries.begin(), recording.entries.end(),
                  [](const RecordedEntry& entry) { return !entry.cost || *entry.cost > 0; });
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
