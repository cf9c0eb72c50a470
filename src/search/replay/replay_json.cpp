// replay_json.cpp - scores as the rows of fatune.replay/2.
#include <array>
#include <map>

#include "core/fields.hpp"
#include "search/replay/replay.hpp"

namespace fatune {
namespace {

/// "25" for as long as the program runs.
const char* count_key(std::uint64_t count) {
  static const auto keys = [] {
    std::map<std::uint64_t, std::string> made;
    for (const std::uint64_t each : kFractionsAt) made[each] = std::to_string(each);
    for (const std::uint64_t each : kWithinAt) made[each] = std::to_string(each);
    return made;
  }();
  return keys.at(count).c_str();
}

/// Value and interval; null where nothing can be said.
void estimate_fields(const char* key, const char* interval_key,
                     const std::optional<Estimate>& estimate, FieldList& f) {
  std::optional<double> value;
  std::optional<std::array<double, 2>> interval;
  if (estimate) {
    value = estimate->value;
    interval = {estimate->low, estimate->high};
  }
  f.derived(key, value).or_null().finite();
  f.derived(interval_key, interval).or_null().finite();
}

/// {"25": ..., "50": ...}, and the same of intervals.
template <typename Counts, typename Estimates>
void count_fields(const char* key, const char* interval_key, const Counts& counts,
                  const Estimates& estimates, FieldList& f) {
  f.group(key, [&](FieldList& values) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const auto& each = estimates[i];
      values.derived(count_key(counts[i]), each ? std::optional(each->value) : std::nullopt)
          .or_null()
          .finite();
    }
  });
  f.group(interval_key, [&](FieldList& intervals) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      std::optional<std::array<double, 2>> interval;
      if (estimates[i]) interval = {estimates[i]->low, estimates[i]->high};
      intervals.derived(count_key(counts[i]), interval).or_null().finite();
    }
  });
}

void control_fields(ReplayRow& x, FieldList& f) {
  f("repeats", x.score.repeats);
  estimate_fields("P", "P_ci95", x.score.p, f);
  f("methodology_score", x.published).or_null().finite();
}

}  // namespace

void fields(ReplayRow& x, FieldList& f) {
  Score& score = x.score;
  f("file", x.file);
  f("strategy", x.strategy);
  control_fields(x, f);
  count_fields("at", "at_ci95", kFractionsAt, score.at, f);
  count_fields("within5", "within5_ci95", kWithinAt, score.within, f);
  estimate_fields("within2_early", "within2_early_ci95", score.near, f);
  estimate_fields("within2_end", "within2_end_ci95", score.near_at_end, f);
  f("evaluations", x.evaluations);
  f("seconds", x.seconds).finite();
}

void fields(Replay& x, FieldList& f) {
  f.record("space", "A recording");
  f("file", x.file);
  f("format", x.format);
  f("kernel", x.kernel);
  f.group("device", [&x](FieldList& device) { device("name", x.device); });
  f("problem", x.own_problem).about("Of a recording by fatune");
  f("label", x.problem).omitted().about("The problem, as the file words it");
  f("objective", x.objective);
  f("unit", x.unit);
  f("configs", x.configs);
  f("failed", x.failed);
  f("optimum", x.optimum).finite();
  f("median", x.median).finite();
  f("worst", x.worst).finite();
  f.derived("scored_to", x.yardstick.scores() ? std::optional(x.yardstick.last) : std::nullopt)
      .or_null();
  f("early", x.near_at).about("Evaluations after which within2_early looks");
  f("methodology_evaluations", x.published_evaluations).or_null();
  f("methodology_seconds", x.published_seconds).or_null().finite();
  f.group("control", [&x](FieldList& control) {
    control_fields(x.control, control);
    control.derived("holds", x.control_holds());
  });
  f("remarks", x.remarks);
}

void fields(MeanScore& x, FieldList& f) {
  f("strategy", x.strategy);
  f("spaces", x.spaces);
  f("P", x.p).finite();
  f("lowest_P", x.lowest).finite();
  f("lowest_file", x.lowest_file);
}

void fields(ReplayDocument& x, FieldList& f) {
  std::vector<ReplayRow> rows;
  for (const Replay& replay : x.replays) {
    for (const ReplayRow& row : replay.rows) rows.emplace_back(row).file = replay.file;
  }
  f.document("fatune.replay", 2);
  document::head_fields(x.head, f);
  f("budget", x.options.budget);
  f("batch", x.options.batch);
  f("seed", x.options.seed);
  f("one_lever", x.options.one_lever);
  f("spaces", x.replays);
  f.derived("rows", std::move(rows));
  f.derived("means", mean_scores(x.replays));
}

}  // namespace fatune
