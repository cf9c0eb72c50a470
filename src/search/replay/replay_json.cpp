// replay_json.cpp - scores as the rows of fatune.replay/1.
#include <nlohmann/json.hpp>

#include "search/replay/replay.hpp"

namespace fatune {
namespace {

Json number_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json value_of(const std::optional<Estimate>& estimate) {
  return estimate ? Json(estimate->value) : Json();
}

Json interval_of(const std::optional<Estimate>& estimate) {
  return estimate ? Json{estimate->low, estimate->high} : Json();
}

/// {"25": ..., "50": ...} through `pick`.
template <typename Counts, typename Estimates>
Json by_count(const Counts& counts, const Estimates& estimates,
              Json (*pick)(const std::optional<Estimate>&)) {
  Json object = Json::object();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    object[std::to_string(counts[i])] = pick(estimates[i]);
  }
  return object;
}

Json row_json(const std::string& file, const ReplayRow& row) {
  const Score& score = row.score;
  return {{"file", file},
          {"strategy", row.strategy},
          {"repeats", score.repeats},
          {"P", value_of(score.p)},
          {"P_ci95", interval_of(score.p)},
          {"at", by_count(kFractionsAt, score.at, value_of)},
          {"at_ci95", by_count(kFractionsAt, score.at, interval_of)},
          {"within5", by_count(kWithinAt, score.within, value_of)},
          {"within5_ci95", by_count(kWithinAt, score.within, interval_of)},
          {"within2_early", value_of(score.near)},
          {"within2_early_ci95", interval_of(score.near)},
          {"within2_end", value_of(score.near_at_end)},
          {"within2_end_ci95", interval_of(score.near_at_end)},
          {"methodology_score", number_or_null(row.published)},
          {"evaluations", row.evaluations},
          {"seconds", row.seconds}};
}

Json space_json(const Replay& replay) {
  Json space = {
      {"file", replay.file},       {"format", replay.format},   {"kernel", replay.kernel},
      {"device", replay.device},   {"problem", replay.problem}, {"objective", replay.objective},
      {"unit", replay.unit},       {"configs", replay.configs}, {"failed", replay.failed},
      {"optimum", replay.optimum}, {"median", replay.median},   {"worst", replay.worst}};
  space["scored_to"] = replay.yardstick.scores() ? Json(replay.yardstick.last) : Json();
  space["early"] = replay.near_at;
  space["methodology_evaluations"] =
      replay.published_evaluations ? Json(*replay.published_evaluations) : Json();
  space["methodology_seconds"] = number_or_null(replay.published_seconds);
  space["control"] = {{"repeats", replay.control.score.repeats},
                      {"P", value_of(replay.control.score.p)},
                      {"P_ci95", interval_of(replay.control.score.p)},
                      {"methodology_score", number_or_null(replay.control.published)},
                      {"holds", replay.control_holds()}};
  space["remarks"] = replay.remarks;
  return space;
}

}  // namespace

Json to_json(const std::vector<Replay>& replays, const ReplayOptions& options) {
  Json spaces = Json::array(), rows = Json::array(), means = Json::array();
  for (const Replay& replay : replays) {
    spaces.push_back(space_json(replay));
    for (const ReplayRow& row : replay.rows) rows.push_back(row_json(replay.file, row));
  }
  for (const MeanScore& mean : mean_scores(replays)) {
    means.push_back({{"strategy", mean.strategy},
                     {"spaces", mean.spaces},
                     {"P", mean.p},
                     {"lowest_P", mean.lowest},
                     {"lowest_file", mean.lowest_file}});
  }
  return {{"schema", "fatune.replay/1"},
          {"budget", options.budget},
          {"batch", options.batch},
          {"seed", options.seed},
          {"one_lever", options.one_lever},
          {"spaces", spaces},
          {"rows", rows},
          {"means", means}};
}

}  // namespace fatune
