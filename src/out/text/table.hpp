// table.hpp - aligned columns for a terminal, or Markdown or CSV rows, from the same cells.
#pragma once

#include <string>
#include <vector>

namespace fatune {

enum class Align { kLeft, kRight };
struct Column {
  std::string title;
  Align align = Align::kLeft;
};
class Table {
 public:
  explicit Table(std::vector<Column> columns);
  void add(std::vector<std::string> cells);
  /// Two spaces between columns, a rule under the titles as far as column 120.
  std::string text() const;
  std::string markdown() const;
  std::string csv() const;
  bool empty() const { return rows_.empty(); }

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace fatune
