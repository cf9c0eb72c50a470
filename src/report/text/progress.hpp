// progress.hpp: Declares the progress of a sweep as live lines or as plain lines.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "model/results/sweep_result.hpp"
#include "report/text/layout.hpp"

namespace fatune {

enum class ProgressStyle {
  kLive,   ///< two lines, redrawn in place
  kPlain,  ///< a line every 25 candidates or 5 % of the phase, every 10 seconds, and at a change of
           ///< phase
};

/// Draws a series as at most `width` bars of eight heights on a logarithmic scale: "█▅▃▂▁". In a
/// longer series each bar is the last value of its section, so the final value is shown.
std::string sparkline(const std::vector<double>& values, std::size_t width);
/// Returns the two live lines, each cut to `columns`.
std::string live_lines(const SweepProgress& progress, std::size_t columns, const Paint& paint = {});
std::string plain_line(const SweepProgress& progress);

class ProgressDisplay {
 public:
  /// `columns` returns the terminal's width at the time of drawing. `out` must outlive the display.
  ProgressDisplay(std::ostream& out, ProgressStyle style, std::function<std::size_t()> columns,
                  const Paint& paint = {});
  void show(const SweepProgress& progress);
  /// Removes the live lines before another message; draw() restores the lines.
  void clear();
  void draw();

 private:
  bool is_due(const SweepProgress& progress) const;

  std::ostream& out_;
  ProgressStyle style_;
  std::function<std::size_t()> columns_;
  Paint paint_;
  SweepProgress shown_;  ///< progress drawn last
  bool any_ = false;     ///< shown_ is valid
  bool on_screen_ = false;
};

}  // namespace fatune
