// layout.hpp - how text is laid out: in colour where a terminal shows it, in how many columns, and
// in tables; from the same cells Markdown or CSV.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fatune {

inline constexpr std::size_t kUsualColumns = 80;  // of a terminal

enum class Colour { kNone, kAnsi };

/// What a colour is to say; the terminal's own palette decides how it looks, light or dark.
enum class Tone {
  kStrong,  ///< the one line to read first
  kGood,
  kWarn,
  kBad,
  kFaint,  ///< there for completeness
};

class Paint {
 public:
  Paint() = default;
  explicit Paint(Colour colour, std::size_t columns = kUsualColumns)
      : colour_(colour), columns_(columns) {}
  /// Without colours, and of empty text, the text itself. Widths in tables stay right: they are
  /// counted by display_width().
  std::string operator()(Tone tone, std::string_view text) const;

  /// Lines that are too wide, broken at spaces; what is broken off stands two spaces further in.
  std::string fitted(std::string_view text) const;

  std::size_t columns() const { return columns_; }

 private:
  Colour colour_ = Colour::kNone;
  std::size_t columns_ = kUsualColumns;
};

struct Column {
  /// '>' in front of the title aligns the column right, as in a format of fmt.
  Column(std::string title_and_side, int spare_order = 0);
  Column(const char* title_and_side, int spare_order = 0)
      : Column(std::string(title_and_side), spare_order) {}

  std::string title;
  bool right = false;
  int spare = 0;  ///< of a table that is too wide, columns of the highest number go first
};
/// In place of such a number: goes where wrapping words was not enough.
inline constexpr int kLastSpare = -1;

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells);
  /// Writes a line under the last row, across all columns; text() alone shows it.
  void add_below(std::string line);
  /// Two spaces between columns, a rule under the titles. Where `columns` are too few, spare
  /// columns are left out, then the widest columns of words are wrapped, then kLastSpare go.
  std::string text(std::size_t columns = kUsualColumns) const;
  std::string markdown() const;
  std::string csv() const;
  bool empty() const { return rows_.empty(); }

 private:
  std::vector<std::size_t> natural_widths() const;
  std::vector<std::size_t> longest_words() const;  ///< what no wrapping makes narrower
  /// Positions of the columns that are shown.
  std::vector<std::size_t> shown(const std::vector<std::size_t>& widths, std::size_t columns) const;
  std::vector<std::size_t> wrapped_widths(const std::vector<std::size_t>& shown,
                                          std::size_t columns) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::string> below_;  ///< of each row, mostly empty
};

}  // namespace fatune
