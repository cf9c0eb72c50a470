// importance_text.cpp - shares of variance in order, with what they are of.
#include "out/text/importance_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/text.hpp"
#include "out/text/table.hpp"
#include "search/datasets/recording.hpp"
#include "search/strategies/importance.hpp"

namespace fatune::cli {
namespace {

constexpr double kShown = 0.01;  // of the variance; less is noise of the fit
struct Row {
  std::string what;
  double share;
};

std::vector<Row> rows_of(const ParameterImportance& importance) {
  std::vector<Row> rows;
  for (const auto& single : importance.singles) rows.push_back({single.name, single.share});
  for (const auto& pair : importance.pairs) {
    rows.push_back({pair.first + " with " + pair.second, pair.share});
  }
  std::erase_if(rows, [](const Row& row) { return row.share < kShown; });
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.share > b.share; });
  return rows;
}

Table table_of(const ParameterImportance& importance) {
  Table table({{"share", Align::kRight}, {"of the variance is explained by"}});
  double shown = 0;
  for (const Row& row : rows_of(importance)) {
    table.add({percent(row.share, 0), row.what});
    shown += row.share;
  }
  if (1 - shown >= kShown) {
    table.add({percent(1 - shown, 0), "all else: smaller effects, and three parameters at once"});
  }
  return table;
}

std::string headline(const Recording& recording) {
  std::string text = recording.name;
  if (!recording.problem.empty()) text += ", " + recording.problem;
  if (!recording.device.empty()) text += " on " + recording.device;
  return text;
}

}  // namespace

std::string importance_text(const ParameterImportance& importance, ImportanceFormat format,
                            const Paint& paint) {
  if (importance.measured < kFewestForImportance) {
    return fmt::format("What the parameters explain: {} timed configs are too few to say.\n",
                       importance.measured);
  }
  const Table table = table_of(importance);
  if (rows_of(importance).empty()) {
    return fmt::format("What the parameters explain: nothing, {} timed configs differ by chance.\n",
                       importance.measured);
  }
  const std::string what = fmt::format(
      "What the parameters explain of {} timed configs{}, by functional ANOVA:\n",
      importance.measured,
      importance.failed > 0 ? fmt::format(" ({} failed and are left out)", importance.failed) : "");
  return what + (format == ImportanceFormat::kText ? table.text(paint.columns())
                                                   : "\n" + table.markdown());
}

Result<std::string> inspect_importance(const std::filesystem::path& path, const Paint& paint) {
  FATUNE_TRY(const std::vector<Recording> recordings, read_recordings(path));
  std::string text;
  for (const Recording& recording : recordings) {
    text += (text.empty() ? "" : "\n") + headline(recording) + "\n" +
            importance_text(importance_of(recording), ImportanceFormat::kText, paint);
  }
  return text;
}

}  // namespace fatune::cli
