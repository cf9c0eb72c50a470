// progress.hpp - a sweep's progress to live lines on a terminal, or to a plain line now and then.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "model/results/sweep_result.hpp"
#include "out/text/layout.hpp"

namespace fatune {

enum class ProgressStyle {
  kLive,   ///< two lines, redrawn in place
  kPlain,  ///< a line every 25 candidates or 5 % of the phase, every 10 seconds, and at a change of
           ///< phase
};

/// The shape of a series as at most `width` bars of eight heights, by the values' logarithms:
/// "█▅▃▂▁". Of a longer series each bar shows the last of its share, so that it ends with the last.
std::string sparkline(const std::vector<double>& values, std::size_t width);
/// The two live lines, each cut to `columns`.
std::string live_lines(const SweepProgress& progress, std::size_t columns, const Paint& paint = {});
std::string plain_line(const SweepProgress& progress);

class ProgressDisplay {
 public:
  /// `columns` gives the terminal's width at the time of drawing. `out` must outlive the display.
  ProgressDisplay(std::ostream& out, ProgressStyle style, std::function<std::size_t()> columns,
                  const Paint& paint = {});
  void show(const SweepProgress& progress);
  /// Removes the live lines, say before another message; draw() brings them back.
  void clear();
  void draw();

 private:
  bool is_due(const SweepProgress& progress) const;

  std::ostream& out_;
  ProgressStyle style_;
  std::function<std::size_t()> columns_;
  Paint paint_;
  SweepProgress shown_;  ///< the latest that was drawn
  bool any_ = false;     ///< shown_ is one
  bool on_screen_ = false;
};

}  // namespace fatune
