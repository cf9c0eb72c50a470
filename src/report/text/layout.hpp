// layout.hpp: Declares the layout of text: colours, columns, and tables in several formats.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fatune {

inline constexpr std::size_t kUsualColumns = 80;  // columns of a terminal

enum class Colour { kNone, kAnsi };

/// The meaning of a colour; the terminal's palette decides the shade.
enum class Tone {
  kStrong,  ///< the line to read first
  kGood,
  kWarn,
  kBad,
  kFaint,  ///< details
};

class Paint {
 public:
  Paint() = default;
  explicit Paint(Colour colour, std::size_t columns = kUsualColumns)
      : colour_(colour), columns_(columns) {}
  /// Returns empty text, and any text without colours, unchanged. Table widths ignore escapes,
  /// because display_width() counts the columns.
  std::string operator()(Tone tone, std::string_view text) const;

  /// Breaks lines that are too wide at spaces and indents the continuation by two spaces.
  std::string fitted(std::string_view text) const;

  std::size_t columns() const { return columns_; }

 private:
  Colour colour_ = Colour::kNone;
  std::size_t columns_ = kUsualColumns;
};

/// Returns the text in one line of Markdown, as code unless it has no markup: names come from files
/// of strangers, and a report is posted.
std::string markdown_text(std::string_view text);
std::string markdown_code(std::string_view text);

struct Column {
  /// A '>' in front of the title aligns the column right, as in fmt.
  Column(std::string title_and_side, int spare_order = 0);
  Column(const char* title_and_side, int spare_order = 0)
      : Column(std::string(title_and_side), spare_order) {}

  std::string title;
  bool right = false;
  int spare = 0;  ///< tables that are too wide drop columns of the highest number first
};
/// In place of a `spare` number: the column is dropped only if wrapping words was not enough.
inline constexpr int kLastSpare = -1;

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells);
  /// Writes a line under the last row, across all columns; only text() shows the line.
  void add_below(std::string line);
  /// Puts two spaces between columns and a rule under the titles. In too few `columns`, drops spare
  /// columns, then wraps the widest columns of words, then drops kLastSpare columns.
  std::string text(std::size_t columns = kUsualColumns) const;
  std::string markdown() const;
  std::string csv() const;
  bool empty() const { return rows_.empty(); }

 private:
  std::vector<std::size_t> natural_widths() const;
  std::vector<std::size_t> longest_words() const;  ///< minimum widths after wrapping
  /// Returns the positions of the shown columns.
  std::vector<std::size_t> shown(const std::vector<std::size_t>& widths, std::size_t columns) const;
  std::vector<std::size_t> wrapped_widths(const std::vector<std::size_t>& shown,
                                          std::size_t columns) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::string> below_;  ///< lines below each row, mostly empty
};

}  // namespace fatune
