// replay.cpp - runs the control and each strategy on one recording and scores them.
#include "search/replay/replay.hpp"

#include <algorithm>
#include <cmath>

namespace fatune {
namespace {

constexpr std::size_t kMostControlRepeats = 64'000;
constexpr double kControlError = kControlTolerance / 4;  // standard error that makes the check safe

/// One recording with what its scoring needs.
class Bench {
 public:
  Bench(const Recording& recording, Landscape landscape, const ReplayOptions& options)
      : recording_(recording), landscape_(std::move(landscape)), options_(options) {
    scored_ = std::min(options.budget, std::max(landscape_.size(), kFractionsAt.back()));
    yardstick_ = make_yardstick(landscape_, scored_);
    method_ = PublishedMethod::of(recording, landscape_);
    publishes_ = method_ &&
                 (options.published_everywhere || method_->budget_evaluations() <= options.budget);
  }

  const Landscape& landscape() const { return landscape_; }
  const Yardstick& yardstick() const { return yardstick_; }
  const std::optional<PublishedMethod>& method() const { return method_; }

  Result<ReplayRow> row(const std::string& strategy) const {
    const RunOptions run = run_options(strategy, options_.repeats);
    FATUNE_TRY(const Runs runs, run_repeats(recording_, {}, run));
    return scored(runs, run);
  }

  /// Repeated until its own scatter cannot fail the check. On a small space a run that misses the
  /// optimum when random search is almost sure to have it weighs much, so that takes more.
  Result<ReplayRow> control() const {
    RunOptions run = run_options("random", std::max(kControlRepeats, options_.repeats));
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
                  .published = std::nullopt,
                  .seconds = runs.seconds,
                  .evaluations = 0};
    for (const Trace& trace : runs.traces) row.evaluations += trace.size();
    if (!publishes_) return row;
    run.repeats = std::min(run.repeats, kControlRepeats);
    run.budget = method_->budget_evaluations();
    run.most_seconds = method_->budget_seconds();
    FATUNE_TRY(const Runs timed, run_repeats(recording_, method_->seconds(), run));
    row.published = method_->score(timed.traces, recording_);
    return row;
  }

  RunOptions run_options(const std::string& strategy, std::size_t repeats) const {
    return {.strategy = strategy,
            .repeats = repeats,
            .budget = options_.budget,
            .most_seconds = std::nullopt,
            .batch = options_.batch,
            .seed = options_.seed,
            .one_lever = options_.one_lever,
            .jobs = options_.jobs};
  }

  const Recording& recording_;
  Landscape landscape_;
  const ReplayOptions& options_;
  std::uint64_t scored_ = 0;  ///< evaluations that are looked at
  Yardstick yardstick_;
  std::optional<PublishedMethod> method_;
  bool publishes_ = false;  ///< there is a method, and its runs are not too long
};

Replay describe_space(const Recording& recording, const std::string& file, const Bench& bench) {
  Replay replay;
  replay.file = file;
  replay.format = recording.format;
  replay.kernel = recording.name;
  replay.device = recording.device;
  replay.problem = recording.problem;
  replay.own_problem = recording.own_problem;
  replay.objective = recording.objective;
  replay.unit = recording.unit;
  replay.configs = bench.landscape().size();
  replay.failed = bench.landscape().failures();
  replay.optimum = recorded_value(recording, bench.landscape().optimum());
  replay.median = recorded_value(recording, bench.landscape().median());
  replay.worst = recorded_value(recording, bench.landscape().worst());
  replay.yardstick = bench.yardstick();
  replay.near_at = near_at(bench.landscape());
  if (bench.method()) {
    replay.published_evaluations = bench.method()->budget_evaluations();
    replay.published_seconds = bench.method()->budget_seconds();
  }
  replay.remarks = recording.remarks;
  return replay;
}

void remark_range(Replay& replay, std::uint64_t budget) {
  if (!replay.yardstick.scores()) {
    replay.remarks.push_back("no P: it begins at " + std::to_string(kFirstScored) +
                             " evaluations, and random search has the optimum by then or the "
                             "budget is spent");
  } else if (replay.yardstick.last < budget) {
    replay.remarks.push_back("P is over t = " + std::to_string(kFirstScored) + " to " +
                             std::to_string(replay.yardstick.last) +
                             ": then random search has the optimum, too");
  }
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
  Replay replay = describe_space(recording, file, bench);
  remark_range(replay, options.budget);
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
      auto mean = std::find_if(means.begin(), means.end(), [&](const MeanScore& each) {
        return each.strategy == row.strategy;
      });
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

}  // namespace fatune
