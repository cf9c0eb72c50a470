// table.hpp - aligned columns for a terminal, or Markdown or CSV rows, from the same cells.
#pragma once

#include <string>
#include <vector>

#include "out/text/paint.hpp"

namespace fatune {

enum class Align { kLeft, kRight };
struct Column {
  std::string title;
  Align align = Align::kLeft;
  int spare = 0;  ///< of a table that is too wide, columns of the highest number go first
};
class Table {
 public:
  explicit Table(std::vector<Column> columns);
  void add(std::vector<std::string> cells);
  /// Two spaces between columns, a rule under the titles. Where `columns` are too few, spare
  /// columns are left out, and then the widest columns of words are wrapped.
  std::string text(std::size_t columns = kUsualColumns) const;
  std::string markdown() const;
  std::string csv() const;
  bool empty() const { return rows_.empty(); }

 private:
  std::vector<std::size_t> natural_widths() const;
  /// Positions of the columns that are shown.
  std::vector<std::size_t> shown(const std::vector<std::size_t>& widths, std::size_t columns) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace fatune
