// recording_importance.cpp - costs to logarithms, shares to JSON.
#include "search/replay/recording_importance.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

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

Json to_json(const ParameterImportance& importance) {
  Json parameters = Json::array(), pairs = Json::array();
  for (const auto& single : importance.singles) {
    parameters.push_back({{"name", single.name}, {"share", rounded(single.share)}});
  }
  for (const auto& pair : importance.pairs) {
    pairs.push_back(
        {{"first", pair.first}, {"second", pair.second}, {"share", rounded(pair.share)}});
  }
  return {{"measured", importance.measured},
          {"failed", importance.failed},
          {"parameters", parameters},
          {"pairs", pairs},
          {"rest", rounded(importance.rest)}};
}

}  // namespace fatune
