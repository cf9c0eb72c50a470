// layout.cpp: Paints text with colour marks and lays out cells as text, Markdown or CSV.
#include "report/text/layout.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

constexpr std::size_t kGap = 2;         // spaces between columns
constexpr std::size_t kShortCell = 20;  // chosen: no column is wrapped to less

std::string padded(const std::string& cell, std::size_t width, bool right) {
  const std::string space(width - std::min(width, display_width(cell)), ' ');
  return right ? space + cell : cell + space;
}

std::size_t total_width(const std::vector<std::size_t>& widths,
                        const std::vector<std::size_t>& shown) {
  std::size_t total = 0;
  for (const std::size_t i : shown) total += widths[i] + kGap;
  return total - kGap;
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
  return replace_all(markdown_text(cell), "|", "\\|");
}

bool is_alphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// True if a page shows the text as it stands; "fa_rows" and "[0.98, 1.02]" are such.
bool has_no_markup(std::string_view text) {
  constexpr std::string_view kPlain = " .,:;=%+/()?'-";
  if (text.find("//") != text.npos || text.find("www.") != text.npos) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char before = i > 0 ? text[i - 1] : ' ', c = text[i];
    const char next = i + 1 < text.size() ? text[i + 1] : ' ';
    const bool plain = static_cast<unsigned char>(c) >= 0x80 || is_alphanumeric(c) ||
                       kPlain.find(c) != kPlain.npos;
    const bool inside = c == '_' && is_alphanumeric(before) && is_alphanumeric(next);
    const bool begins = c == '[' && (next == '-' || (next >= '0' && next <= '9'));
    const bool ends = c == ']' && (next == ' ' || next == ',');
    if (!plain && !inside && !begins && !ends) return false;
  }
  return true;
}

}  // namespace

std::string markdown_text(std::string_view text) {
  std::string line = replace_all(replace_all(std::string(text), "\r", " "), "\n", " ");
  return has_no_markup(line) ? line : markdown_code(line);
}

std::string markdown_code(std::string_view text) {
  std::string fence = "`";
  while (text.find(fence) != text.npos) fence += '`';
  const bool touches = text.starts_with('`') || text.ends_with('`');
  return fmt::format("{0}{1}{2}{1}{0}", fence, touches ? " " : "", text);
}

std::string Paint::operator()(Tone tone, std::string_view text) const {
  if (colour_ == Colour::kNone || text.empty()) return std::string(text);
  const auto mark = [](int place) { return static_cast<char>(kColourMark + place); };
  return fmt::format("{}{}{}", mark(1 + static_cast<int>(tone)), text, mark(0));
}

std::string Paint::fitted(std::string_view text) const {
  std::string result;
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (const std::string& line : split(text, '\n')) {
    const std::size_t lead = std::min(line.find_first_not_of(' '), line.size());
    const std::string behind = "\n" + std::string(lead + 2, ' ');
    result += display_width(line) <= columns_
                  ? line
                  : std::string(lead, ' ') +
                        join(wrap(line.substr(lead), columns_ - std::min(columns_ - 1, lead + 2)),
                             behind);
    result += '\n';
  }
  return result;
}

Column::Column(std::string title_and_side, int spare_order)
    : title(std::move(title_and_side)), right(title.starts_with('>')), spare(spare_order) {
  if (right) title.erase(0, 1);
}

void Table::add(std::vector<std::string> cells) {
  FATUNE_CHECK(cells.size() == columns_.size(), "a row has a cell for every column");
  rows_.push_back(std::move(cells));
  below_.emplace_back();
}

void Table::add_below(std::string line) {
  FATUNE_CHECK(!rows_.empty(), "a line below a row has a row");
  below_.back() = std::move(line);
}

std::vector<std::size_t> Table::natural_widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = display_width(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[i]));
    widths.push_back(width);
  }
  return widths;
}

std::vector<std::size_t> Table::longest_words() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = display_width(columns_[i].title);
    for (const auto& row : rows_) {
      for (const std::string& word : wrap(row[i], 1)) width = std::max(width, display_width(word));
    }
    widths.push_back(width);
  }
  return widths;
}

std::vector<std::size_t> Table::shown(const std::vector<std::size_t>& widths,
                                      std::size_t columns) const {
  std::vector<std::size_t> shown(columns_.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  while (total_width(widths, shown) > columns) {
    int most = 0;
    for (const std::size_t i : shown) most = std::max(most, columns_[i].spare);
    if (most == 0) break;
    std::erase_if(shown, [&](std::size_t i) { return columns_[i].spare == most; });
  }
  return shown;
}

std::vector<std::size_t> Table::wrapped_widths(const std::vector<std::size_t>& shown,
                                               std::size_t columns) const {
  std::vector<std::size_t> widths = natural_widths();
  const std::vector<std::size_t> least = longest_words();
  while (total_width(widths, shown) > columns) {
    const auto words = [&](std::size_t i) {
      return columns_[i].right || widths[i] <= least[i] ? 0 : widths[i];
    };
    const std::size_t widest = *std::max_element(
        shown.begin(), shown.end(), [&](auto a, auto b) { return words(a) < words(b); });
    if (words(widest) <= kShortCell) break;
    --widths[widest];
  }
  return widths;
}

std::string Table::text(std::size_t columns) const {
  std::vector<std::size_t> shown = this->shown(natural_widths(), columns);
  std::vector<std::size_t> widths = wrapped_widths(shown, columns);
  if (total_width(widths, shown) > columns) {
    std::erase_if(shown, [this](std::size_t i) { return columns_[i].spare == kLastSpare; });
    widths = wrapped_widths(shown, columns);
  }
  const auto line = [&](const auto& cell_of) {
    std::string text;
    for (const std::size_t i : shown) {
      if (i != shown.front()) text += std::string(kGap, ' ');
      text += padded(cell_of(i), widths[i], columns_[i].right);
    }
    return without_trailing_spaces(std::move(text)) + '\n';
  };
  std::string text = line([&](std::size_t i) { return columns_[i].title; });
  text += line([&](std::size_t i) { return std::string(widths[i], '-'); });
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const std::vector<std::string>& row = rows_[r];
    std::vector<std::vector<std::string>> lines;  // of each column
    std::size_t height = 1;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      lines.push_back(wrap(row[i], widths[i]));
      if (std::find(shown.begin(), shown.end(), i) != shown.end())
        height = std::max(height, lines.back().size());
    }
    for (std::size_t n = 0; n < height; ++n)
      text += line([&](std::size_t i) { return n < lines[i].size() ? lines[i][n] : ""; });
    if (below_[r].empty()) continue;
    const std::string lead(widths[shown.front()] + 2 * kGap, ' ');
    for (const std::string& part : wrap(below_[r], columns - std::min(columns, lead.size())))
      text += lead + part + '\n';
  }
  return text;
}

std::string Table::markdown() const {
  std::string text = "|", rule = "|";
  for (const Column& column : columns_) {
    text += ' ' + markdown_cell(column.title) + " |";
    rule += column.right ? "---:|" : "---|";
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
