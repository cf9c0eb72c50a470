// replay.hpp - a recording and a list of strategies to their scores, with random search as control.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/results/document.hpp"
#include "search/replay/published_score.hpp"
#include "search/replay/score.hpp"

namespace fatune {

/// Of the control: as many repeats as make its standard error small enough for the check, at least
/// these.
inline constexpr std::size_t kControlRepeats = 1000;
/// |P| of the control; random search that scores more or less means that the scoring is wrong.
inline constexpr double kControlTolerance = 0.05;

struct ReplayOptions {
  std::vector<std::string> strategies;
  RunOptions run = {};  ///< of each of them
  /// The published score also where its runs are longer than the budget; else where they are not.
  bool published_everywhere = false;
  std::function<void(const std::string& strategy)> started = {};  ///< may be empty
};

struct ReplayRow {
  std::string file{};  ///< of the recording; in documents, where rows stand side by side
  std::string strategy;
  Score score;
  std::optional<double> published = {};
  double seconds = 0;             ///< spent in the strategy itself, in the runs of `score`
  std::uint64_t evaluations = 0;  ///< of those runs
};

/// One recording's scores.
struct Replay {
  std::string file;  ///< what the rows call it
  std::string format, kernel, device, problem, objective, unit;
  std::optional<Problem> own_problem;  ///< of a recording by fatune
  std::uint64_t configs = 0, failed = 0;
  double optimum = 0, median = 0, worst = 0;  ///< in the file's own terms
  Yardstick yardstick;
  std::uint64_t near_at = 0;  ///< evaluations after which Score::near looks
  /// Of the published score: what random search needs to reach the cut-off.
  std::optional<std::uint64_t> published_evaluations;
  std::optional<double> published_seconds;
  ReplayRow control;
  std::vector<ReplayRow> rows;
  std::vector<std::string> remarks;

  /// Random search must score nothing; true where nothing can be scored.
  bool control_holds() const;
};

/// Runs and scores each strategy. Fails when no config was measured, for an unknown strategy, and
/// when it is interrupted.
Result<Replay> replay(const Recording& recording, const std::string& file,
                      const ReplayOptions& options);

/// Mean P of a strategy over the replays in which it has one, and the replay where it is lowest.
struct MeanScore {
  std::string strategy;
  std::size_t spaces = 0;
  double p = 0, lowest = 0;
  std::string lowest_file;
};
std::vector<MeanScore> mean_scores(const std::vector<Replay>& replays);

/// fatune.replay/1
struct ReplayDocument {
  DocumentHead head;
  ReplayOptions options;
  std::vector<Replay> replays;
};
void fields(ReplayRow& x, FieldList& f);
void fields(Replay& x, FieldList& f);
void fields(MeanScore& x, FieldList& f);
void fields(ReplayDocument& x, FieldList& f);

/// An SVG of one panel a recording and one line a strategy, the control included; bands are 95 %
/// intervals of the mean. Its colours follow the reader's light or dark scheme.
std::string curves_svg(const std::vector<Replay>& replays, std::uint64_t budget);

}  // namespace fatune
