// replay.hpp: Scores strategies on a recording, with random search as control.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/results/document.hpp"
#include "search/replay/score.hpp"

namespace fatune {

/// Minimum repeats of the control; more are run until its standard error is small enough.
inline constexpr std::size_t kControlRepeats = 1000;
/// Largest |P| of the control; a larger one means that the scoring is wrong.
inline constexpr double kControlTolerance = 0.05;

struct ReplayOptions {
  std::vector<std::string> strategies;
  RunOptions run = {};  ///< for each strategy
  /// Computes the published score even if its runs exceed the budget.
  bool published_everywhere = false;
  std::function<void(const std::string& strategy)> started = {};  ///< may be empty
};

struct ReplayRow {
  std::string file{};  ///< the recording's file, in documents with rows of several recordings
  std::string strategy;
  Score score;
  std::optional<double> published = {};
  double seconds = 0;             ///< processor time of the strategy in the runs of `score`
  std::uint64_t evaluations = 0;  ///< evaluations in the runs of `score`
};

/// The scores of one recording.
struct Replay : RecordingFacts {
  std::string file;  ///< the rows' name for the file
  std::uint64_t configs = 0, failed = 0;
  double optimum = 0, median = 0, worst = 0;  ///< in the file's unit
  Yardstick yardstick;
  std::uint64_t near_at = 0;  ///< evaluations at which Score::near is read
  /// Evaluations that random search needs to reach the published score's cut-off.
  std::optional<std::uint64_t> published_evaluations;
  std::optional<double> published_seconds;
  ReplayRow control;
  std::vector<ReplayRow> rows;

  /// True if random search scores about zero or nothing can be scored.
  bool control_holds() const;
};

/// Runs and scores each strategy. Fails if no config was measured, for an unknown strategy, and on
/// interruption.
Result<Replay> replay(const Recording& recording, const std::string& file,
                      const ReplayOptions& options);

/// Mean P of a strategy over the replays that score it, and the replay of its lowest P.
struct MeanScore {
  std::string strategy;
  std::size_t spaces = 0;
  double p = 0, lowest = 0;
  std::string lowest_file;
};
std::vector<MeanScore> mean_scores(const std::vector<Replay>& replays);

/// The document fatune.replay/1.
struct ReplayDocument {
  DocumentHead head;
  ReplayOptions options;
  std::vector<Replay> replays;
};
void fields(ReplayRow& x, FieldList& f);
void fields(Replay& x, FieldList& f);
void fields(MeanScore& x, FieldList& f);
void fields(ReplayDocument& x, FieldList& f);

/// Draws an SVG with a panel per recording and a line per strategy, control included. Bands are 95
/// % intervals of the mean. Colours follow the reader's light or dark scheme.
std::string curves_svg(const std::vector<Replay>& replays, std::uint64_t budget);

}  // namespace fatune
