// replay_text.cpp: Lays out the results of a replay: spaces, rows, means.
#include "report/text/replay_text.hpp"

#include <fmt/format.h>

#include "core/text.hpp"
#include "report/text/cells.hpp"

namespace fatune {
namespace {

constexpr int kScoreDecimals = 3;

std::string score_cell(const std::optional<double>& score) {
  return score ? fixed(*score, kScoreDecimals) : "-";
}

std::string score_cell(const std::optional<Estimate>& score) {
  return score ? fixed(score->value, kScoreDecimals) : "-";
}

/// Returns a text such as "73 % [63, 81]".
std::string share_cell(const std::optional<Estimate>& share) {
  if (!share) return "-";
  return fmt::format("{} [{}, {}]", percent(share->value, 0), fixed(100 * share->low, 0),
                     fixed(100 * share->high, 0));
}

std::vector<std::string> cells_of(const ReplayRow& row) {
  const Score& score = row.score;
  std::vector<std::string> cells = {
      row.strategy, fmt::to_string(score.repeats), score_cell(score.p),
      score.p ? interval_text(score.p->low, score.p->high, kScoreDecimals) : "-"};
  for (const auto& fraction : score.at) cells.push_back(score_cell(fraction));
  for (const auto& share : score.within) cells.push_back(share_cell(share));
  cells.push_back(share_cell(score.near));
  cells.push_back(score_cell(row.published));
  return cells;
}

std::string heading(const Replay& replay) {
  const std::string unit = replay.unit.empty() ? "" : " " + replay.unit;
  std::string text = replay.file + ": " + replay.name;
  if (!replay.device.empty()) text += " on " + replay.device;
  text += fmt::format(
      ", {} configs, {} of them fail; {} {:.4g}{} at the optimum, {:.4g}{} median\n",
      replay.configs, replay.failed, replay.objective, replay.optimum, unit, replay.median, unit);
  for (const std::string& remark : replay.remarks) text += "  " + remark + "\n";
  if (replay.published_evaluations) {
    text += fmt::format("  published: budget of {} evaluations, {} of recorded time{}\n",
                        *replay.published_evaluations, describe(Seconds(*replay.published_seconds)),
                        replay.control.published ? "" : "; --published scores it");
  }
  return text;
}

}  // namespace

std::string replay_text(const Replay& replay, const Paint& paint) {
  std::vector<Column> columns = {"strategy", {">repeats", 4}, ">P", "95 % interval"};
  // On a narrow terminal, keep the last column of each series.
  for (std::size_t i = 0; i < kFractionsAt.size(); ++i) {
    const bool last = i + 1 == kFractionsAt.size();
    columns.emplace_back(
        fmt::format(">{}at {}", i == 0 || last ? "of optimum " : "", kFractionsAt[i]),
        last ? 1 : 3);
  }
  for (std::size_t i = 0; i < kWithinAt.size(); ++i) {
    const bool last = i + 1 == kWithinAt.size();
    columns.emplace_back(fmt::format(">{}at {}", i == 0 || last ? "within 5 % " : "", kWithinAt[i]),
                         last ? 1 : 2);
  }
  columns.emplace_back(fmt::format(">within 2 % at {}", replay.near_at));
  columns.emplace_back(">published");
  Table table(columns);
  bool shown = false;
  for (const ReplayRow& row : replay.rows) {
    table.add(cells_of(row));
    shown = shown || row.strategy == replay.control.strategy;
  }
  if (!shown) table.add(cells_of(replay.control));
  return paint.fitted(heading(replay)) + table.text(paint.columns());
}

std::string means_text(const std::vector<Replay>& replays, const Paint& paint) {
  Table table({"strategy", ">spaces", ">mean P", ">lowest", "where"});
  for (const MeanScore& mean : mean_scores(replays)) {
    table.add({mean.strategy, fmt::to_string(mean.spaces), fixed(mean.p, kScoreDecimals),
               fixed(mean.lowest, kScoreDecimals), mean.lowest_file});
  }
  return table.empty() ? "" : table.text(paint.columns());
}

std::string control_failure(const Replay& replay) {
  return fmt::format(
      "{}: random search scores P = {} over {} repeats, which should be 0 within {}: "
      "the scores of this space mean nothing",
      replay.file, fixed(replay.control.score.p->value, kScoreDecimals),
      replay.control.score.repeats, fixed(kControlTolerance, 2));
}

}  // namespace fatune
