// recording_importance.cpp - costs to logarithms, shares to JSON.
#include "search/replay/recording_importance.hpp"

#include <algorithm>
#include <cmath>

#include "core/fields.hpp"

namespace fatune {
namespace {

constexpr double kJsonDigits = 1e4;

double rounded(double share) { return std::round(share * kJsonDigits) / kJsonDigits; }

}  // namespace

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
