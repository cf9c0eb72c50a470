// diff.cpp: Computes a line diff from the longest common subsequence of two texts.
#include "evolve/report/diff.hpp"

#include <algorithm>
#include <cstdint>

#include "core/text.hpp"

namespace fatune {
namespace {

using Kind = DiffLine::Kind;
using Lines = std::vector<std::string>;

/// Chosen; a table of this many cells takes some ten milliseconds.
constexpr std::size_t kMostCells = 4'000'000;

Lines lines_of(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return split(text, '\n');
}

void add(std::vector<DiffLine>& diff, Kind kind, const Lines& lines, std::size_t from,
         std::size_t to) {
  for (std::size_t i = from; i < to; ++i) diff.push_back({kind, lines[i]});
}

/// The part between the common start and the common end.
struct Middle {
  const Lines& before;
  const Lines& after;
  std::size_t begin, before_end, after_end;

  std::size_t rows() const { return before_end - begin; }
  std::size_t columns() const { return after_end - begin; }
};

void add_middle(std::vector<DiffLine>& diff, const Middle& part) {
  const std::size_t rows = part.rows(), columns = part.columns();
  if (rows * columns > kMostCells) {
    add(diff, Kind::kRemoved, part.before, part.begin, part.before_end);
    add(diff, Kind::kAdded, part.after, part.begin, part.after_end);
    return;
  }
  // longest[i][j] is the length of the longest common subsequence of the lines from i and from j.
  std::vector<std::vector<std::uint32_t>> longest(rows + 1,
                                                  std::vector<std::uint32_t>(columns + 1));
  const auto same = [&](std::size_t i, std::size_t j) {
    return part.before[part.begin + i] == part.after[part.begin + j];
  };
  for (std::size_t i = rows; i-- > 0;) {
    for (std::size_t j = columns; j-- > 0;) {
      longest[i][j] =
          same(i, j) ? longest[i + 1][j + 1] + 1 : std::max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  std::size_t i = 0, j = 0;
  while (i < rows || j < columns) {
    if (i < rows && j < columns && same(i, j)) {
      diff.push_back({Kind::kSame, part.before[part.begin + i++]});
      ++j;
    } else if (j == columns || (i < rows && longest[i + 1][j] >= longest[i][j + 1])) {
      diff.push_back({Kind::kRemoved, part.before[part.begin + i++]});
    } else {
      diff.push_back({Kind::kAdded, part.after[part.begin + j++]});
    }
  }
}

std::vector<DiffLine> with_gaps(const std::vector<DiffLine>& whole, std::size_t context) {
  std::vector<bool> shown(whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (whole[i].kind == Kind::kSame) continue;
    const std::size_t from = i - std::min(i, context);
    const std::size_t to = std::min(whole.size(), i + context + 1);
    std::fill(shown.begin() + static_cast<std::ptrdiff_t>(from),
              shown.begin() + static_cast<std::ptrdiff_t>(to), true);
  }
  std::vector<DiffLine> diff;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (shown[i]) {
      diff.push_back(whole[i]);
    } else if (!diff.empty() && diff.back().kind != Kind::kGap) {
      diff.push_back({Kind::kGap, ""});
    }
  }
  if (!diff.empty() && diff.back().kind == Kind::kGap) diff.pop_back();
  return diff;
}

}  // namespace

std::vector<DiffLine> line_diff(std::string_view before, std::string_view after,
                                std::size_t context) {
  const Lines old_lines = lines_of(before), new_lines = lines_of(after);
  const std::size_t least = std::min(old_lines.size(), new_lines.size());
  std::size_t begin = 0;
  while (begin < least && old_lines[begin] == new_lines[begin]) ++begin;
  std::size_t end = 0;
  while (end < least - begin &&
         old_lines[old_lines.size() - 1 - end] == new_lines[new_lines.size() - 1 - end])
    ++end;
  std::vector<DiffLine> diff;
  add(diff, Kind::kSame, old_lines, 0, begin);
  add_middle(diff, {old_lines, new_lines, begin, old_lines.size() - end, new_lines.size() - end});
  add(diff, Kind::kSame, old_lines, old_lines.size() - end, old_lines.size());
  return with_gaps(diff, context);
}

}  // namespace fatune
