// replay.cpp: Runs the control and each strategy on a recording and scores the runs.
#include "search/replay/replay.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/fields.hpp"

namespace fatune {
namespace {

constexpr std::size_t kMostControlRepeats = 64'000;
constexpr double kControlError = kControlTolerance / 4;  // standard error for a reliable check

/// A recording and the values that its scores need.
class Bench {
 public:
  Bench(const Recording& recording, Landscape landscape, const ReplayOptions& options)
      : recording_(recording), landscape_(std::move(landscape)), options_(options) {
    scored_ = std::min(options.run.budget, std::max(landscape_.size(), kFractionsAt.back()));
    yardstick_ = make_yardstick(landscape_, scored_);
    method_ = PublishedMethod::of(recording, landscape_);
    publishes_ = method_ && (options.published_everywhere ||
                             method_->budget_evaluations() <= options.run.budget);
  }

  Replay describe(const std::string& file) const {
    Replay replay;
    static_cast<RecordingFacts&>(replay) = recording_;
    replay.file = file;
    replay.configs = landscape_.size();
    replay.failed = landscape_.failures();
    replay.optimum = recorded_value(recording_, landscape_.optimum());
    replay.median = recorded_value(recording_, landscape_.median());
    replay.worst = recorded_value(recording_, landscape_.worst());
    replay.yardstick = yardstick_;
    replay.near_at = near_at(landscape_);
    if (method_) {
      replay.published_evaluations = method_->budget_evaluations();
      replay.published_seconds = method_->budget_seconds();
    }
    return replay;
  }

  Result<ReplayRow> row(const std::string& strategy) const {
    RunOptions run = options_.run;
    run.strategy = strategy;
    FATUNE_TRY(const Runs runs, run_repeats(recording_, {}, run));
    return scored(runs, run);
  }

  /// Repeats random search until its standard error cannot fail the check. Small spaces need more
  /// repeats, because a single miss of the optimum weighs much.
  Result<ReplayRow> control() const {
    RunOptions run = options_.run;
    run.strategy = "random";
    run.repeats = std::max(kControlRepeats, run.repeats);
    for (;; run.repeats *= 2) {
      FATUNE_TRY(const Runs runs, run_repeats(recording_, {}, run));
      if (!yardstick_.scores() || run.repeats * 2 > kMostControlRepeats) return scored(runs, run);
      const auto scores = scores_of(runs.traces, recording_, landscape_, yardstick_);
      if (standard_error(scores) <= kControlError) return scored(runs, run);
    }
  }

 private:
  Result<ReplayRow> scored(const Runs& runs, RunOptions run) const {
    ReplayRow row{.strategy = run.strategy,
                  .score = score_runs(runs.traces, recording_, landscape_, yardstick_, scored_),
                  .seconds = runs.seconds};
    for (const Trace& trace : runs.traces) row.evaluations += trace.size();
    if (!publishes_) return row;
    run.repeats = std::min(run.repeats, kControlRepeats);
    run.budget = method_->budget_evaluations();
    run.most_seconds = method_->budget_seconds();
    FATUNE_TRY(const Runs timed, run_repeats(recording_, method_->seconds(), run));
    row.published = method_->score(timed.traces, recording_);
    return row;
  }

  const Recording& recording_;
  Landscape landscape_;
  const ReplayOptions& options_;
  std::uint64_t scored_ = 0;  ///< evaluations whose costs the scores use
  Yardstick yardstick_;
  std::optional<PublishedMethod> method_;
  bool publishes_ = false;  ///< the published method applies and its runs are short enough
};

void remark_range(Replay& replay, std::uint64_t budget) {
  if (!replay.yardstick.scores()) {
    replay.remarks.push_back(
        fmt::format("no P: it begins at {} evaluations, and random search has the optimum by then "
                    "or the budget is spent",
                    kFirstScored));
  } else if (replay.yardstick.last < budget) {
    replay.remarks.push_back(
        fmt::format("P is over t = {} to {}: then random search has the optimum, too", kFirstScored,
                    replay.yardstick.last));
  }
}

/// Returns "25" with static lifetime.
const char* count_key(std::uint64_t count) {
  static const auto keys = [] {
    std::map<std::uint64_t, std::string> made;
    for (const std::uint64_t each : kFractionsAt) made[each] = std::to_string(each);
    for (const std::uint64_t each : kWithinAt) made[each] = std::to_string(each);
    return made;
  }();
  return keys.at(count).c_str();
}

// The value is null if it is undefined.
void value_field(const char* key, const std::optional<Estimate>& estimate, FieldList& f) {
  f.derived(key, estimate ? std::optional(estimate->value) : std::nullopt).or_null().finite();
}
void interval_field(const char* key, const std::optional<Estimate>& estimate, FieldList& f) {
  std::optional<std::array<double, 2>> interval;
  if (estimate) interval = {estimate->low, estimate->high};
  f.derived(key, interval).or_null().finite();
}

void estimate_fields(const char* key, const char* interval_key,
                     const std::optional<Estimate>& estimate, FieldList& f) {
  value_field(key, estimate, f);
  interval_field(interval_key, estimate, f);
}

/// Writes {"25": ..., "50": ...} and the object of intervals.
template <typename Counts, typename Estimates>
void count_fields(const char* key, const char* interval_key, const Counts& counts,
                  const Estimates& estimates, FieldList& f) {
  f.group(key, [&](FieldList& values) {
    for (std::size_t i = 0; i < counts.size(); ++i)
      value_field(count_key(counts[i]), estimates[i], values);
  });
  f.group(interval_key, [&](FieldList& intervals) {
    for (std::size_t i = 0; i < counts.size(); ++i)
      interval_field(count_key(counts[i]), estimates[i], intervals);
  });
}

void control_fields(ReplayRow& x, FieldList& f) {
  f("repeats", x.score.repeats);
  estimate_fields("P", "P_ci95", x.score.p, f);
  f("methodology_score", x.published).or_null().finite();
}

}  // namespace

bool Replay::control_holds() const {
  return !control.score.p || std::abs(control.score.p->value) <= kControlTolerance;
}

Result<Replay> replay(const Recording& recording, const std::string& file,
                      const ReplayOptions& options) {
  std::vector<std::optional<double>> costs;
  for (const RecordedEntry& entry : recording.entries) costs.push_back(entry.cost);
  FATUNE_TRY(Landscape landscape, Landscape::build(costs, recording.where));
  const Bench bench(recording, std::move(landscape), options);
  Replay replay = bench.describe(file);
  remark_range(replay, options.run.budget);
  if (options.started) options.started("random, as control");
  FATUNE_TRY(replay.control, bench.control());
  for (const std::string& strategy : options.strategies) {
    if (strategy == replay.control.strategy) {
      replay.rows.push_back(replay.control);
      continue;
    }
    if (options.started) options.started(strategy);
    FATUNE_TRY(ReplayRow row, bench.row(strategy));
    replay.rows.push_back(std::move(row));
  }
  return replay;
}

std::vector<MeanScore> mean_scores(const std::vector<Replay>& replays) {
  std::vector<MeanScore> means;
  for (const Replay& replay : replays) {
    for (const ReplayRow& row : replay.rows) {
      if (!row.score.p) continue;
      auto mean = std::ranges::find(means, row.strategy, &MeanScore::strategy);
      const double p = row.score.p->value;
      if (mean == means.end()) mean = means.insert(mean, {row.strategy, 0, 0, p, replay.file});
      mean->spaces += 1;
      mean->p += p;
      if (p < mean->lowest) {
        mean->lowest = p;
        mean->lowest_file = replay.file;
      }
    }
  }
  for (MeanScore& mean : means) mean.p /= static_cast<double>(mean.spaces);
  return means;
}

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
  f("kernel", x.name);
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
  f.document("fatune.replay");
  document::head_fields(x.head, f);
  f("budget", x.options.run.budget);
  f("batch", x.options.run.batch);
  f("gpus", x.options.run.gpus);
  f("seed", x.options.run.seed);
  f("one_lever", x.options.run.one_lever);
  f("spaces", x.replays);
  f.derived("rows", std::move(rows));
  f.derived("means", mean_scores(x.replays));
}

}  // namespace fatune
