// table.cpp - cells to aligned text, Markdown or CSV.
#include "out/text/table.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

constexpr std::size_t kGap = 2;         // spaces between columns
constexpr std::size_t kTerminal = 120;  // chosen: longer text may wrap, a rule that wraps is noise
constexpr std::size_t kShortCell = 20;  // chosen: below it a rule is never cut

std::string padded(const std::string& cell, std::size_t width, Align align) {
  const std::string space(width - std::min(width, display_width(cell)), ' ');
  return align == Align::kRight ? space + cell : cell + space;
}

std::size_t start_of_last(const std::vector<std::size_t>& widths) {
  std::size_t start = 0;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) start += widths[i] + kGap;
  return start;
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string csv_cell(const std::string& cell) {
  if (cell.find_first_of(",\"\n") == std::string::npos) return cell;
  return '"' + replace_all(cell, "\"", "\"\"") + '"';
}

std::string markdown_cell(const std::string& cell) {
  return replace_all(replace_all(cell, "|", "\\|"), "\n", " ");
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add(std::vector<std::string> cells) {
  FATUNE_CHECK(cells.size() == columns_.size(), "a row has a cell for every column");
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = display_width(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[i]));
    widths.push_back(width);
  }
  const auto line = [&](const auto& cell_of) {
    std::string text;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) text += std::string(kGap, ' ');
      text += padded(cell_of(i), widths[i], columns_[i].align);
    }
    return without_trailing_spaces(std::move(text)) + '\n';
  };
  std::string text = line([&](std::size_t i) { return columns_[i].title; });
  const std::size_t indent = start_of_last(widths);
  text += line([&](std::size_t i) {
    if (i + 1 < widths.size()) return std::string(widths[i], '-');
    const std::size_t room = kTerminal - std::min(kTerminal, indent);
    return std::string(std::min(widths[i], std::max(room, kShortCell)), '-');
  });
  for (const auto& row : rows_) text += line([&](std::size_t i) { return row[i]; });
  return text;
}

std::string Table::markdown() const {
  std::string text = "|", rule = "|";
  for (const Column& column : columns_) {
    text += ' ' + markdown_cell(column.title) + " |";
    rule += column.align == Align::kRight ? "---:|" : "---|";
  }
  text += '\n' + rule + '\n';
  for (const auto& row : rows_) {
    text += '|';
    for (const std::string& cell : row) text += ' ' + markdown_cell(cell) + " |";
    text += '\n';
  }
  return text;
}

std::string Table::csv() const {
  std::string text;
  const auto add_cell = [&](std::size_t i, const std::string& cell) {
    text += (i > 0 ? "," : "") + csv_cell(cell);
  };
  for (std::size_t i = 0; i < columns_.size(); ++i) add_cell(i, columns_[i].title);
  text += '\n';
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) add_cell(i, row[i]);
    text += '\n';
  }
  return text;
}

}  // namespace fatune
