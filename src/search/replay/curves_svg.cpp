// curves_svg.cpp: Draws replayed search curves as SVG panels.
#include <algorithm>

#include <fmt/format.h>

#include "core/svg.hpp"
#include "core/text.hpp"
#include "search/replay/replay.hpp"

namespace fatune {
namespace {

using svg::line_at, svg::number, svg::text_at, svg::tick_step;

constexpr double kPanelWidth = 380, kPanelHeight = 250;
constexpr double kLeft = 52, kRight = 14, kTop = 42, kBottom = 40;  // around a panel's axes
constexpr double kMargin = 12, kLegendLine = 20, kLegendColumn = 108, kTitle = 24;
constexpr std::size_t kMostColumns = 3, kSquare = 4;  // up to kSquare panels stand two by two

constexpr const char* kStyle =
    ".control { stroke: #59636e } .control-band { fill: #59636e }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  .control { stroke: #9198a1 } .control-band { fill: #9198a1 }\n"
    "}\n";

/// Returns the evaluations to draw: each early one, fewer where curves are flat.
std::vector<std::uint64_t> sampled(std::uint64_t budget) {
  std::vector<std::uint64_t> counts;
  for (std::uint64_t t = 1; t <= budget; t += t < 20 ? 1 : t < 60 ? 2 : 5) counts.push_back(t);
  if (counts.back() != budget) counts.push_back(budget);
  return counts;
}

/// A panel for one recording: evaluations to the right, excess over the optimum upwards.
class Panel {
 public:
  Panel(const Replay& replay, std::size_t number, double x, double y, std::uint64_t budget)
      : replay_(replay), id_(fmt::format("panel{}", number)), x_(x), y_(y), budget_(budget) {
    const auto& curve = replay.control.score.excess;
    const std::size_t shown = std::min<std::size_t>(kFirstScored, curve.size()) - 1;
    highest_ = std::max(curve[shown].value * 1.1, 1e-6);
  }

  std::string svg(const std::vector<std::string>& strategies) const {
    std::string text = axes();
    text += fmt::format(
        R"(<clipPath id="{0}"><rect x="{1}" y="{2}" width="{3}" height="{4}"/></clipPath>)"
        "\n<g clip-path=\"url(#{0})\">\n",
        id_, number(left()), number(top()), number(width()), number(height()));
    text += curve(replay_.control, "control", "");
    for (std::size_t i = 0; i < strategies.size(); ++i) {
      for (const ReplayRow& row : replay_.rows) {
        if (row.strategy == strategies[i]) text += curve(row, "", svg::colour(i));
      }
    }
    return text + "</g>\n";
  }

 private:
  double left() const { return x_ + kLeft; }
  double top() const { return y_ + kTop; }
  double width() const { return kPanelWidth - kLeft - kRight; }
  double height() const { return kPanelHeight - kTop - kBottom; }
  double across(double t) const { return left() + width() * t / static_cast<double>(budget_); }
  double up(double excess) const { return top() + height() * (1 - excess / highest_); }

  std::string axes() const {
    std::string text = text_at(left(), y_ + 16, "class=\"text\" font-weight=\"600\"", replay_.file);
    text += text_at(left(), y_ + 32, "class=\"faint\" font-size=\"11\"", subtitle());
    const double step = tick_step(highest_);
    const int decimals = step >= 0.01 ? 0 : step >= 0.001 ? 1 : 2;
    for (double tick = 0; tick <= highest_; tick += step) {
      text += line_at(left(), up(tick), left() + width(), up(tick), tick > 0 ? "grid" : "axis");
      text +=
          text_at(left() - 6, up(tick) + 4, "class=\"faint\" text-anchor=\"end\" font-size=\"11\"",
                  tick > 0 ? "+" + percent(tick, decimals) : "optimum");
    }
    const double stride = tick_step(static_cast<double>(budget_));
    for (double t = 0; t <= static_cast<double>(budget_); t += stride) {
      text += line_at(across(t), top() + height(), across(t), top() + height() + 4, "axis");
      text += text_at(across(t), top() + height() + 17,
                      "class=\"faint\" text-anchor=\"middle\" font-size=\"11\"", fixed(t, 0));
    }
    return text + text_at(left() + width() / 2, top() + height() + 32,
                          "class=\"faint\" text-anchor=\"middle\" font-size=\"11\"", "evaluations");
  }

  std::string subtitle() const {
    return fmt::format("{}{}{} configs, {} of them fail", replay_.device,
                       replay_.device.empty() ? "" : ", ", replay_.configs, replay_.failed);
  }

  std::string points(const ReplayRow& row, double Estimate::*member, bool backwards) const {
    std::vector<std::uint64_t> counts =
        sampled(std::min<std::uint64_t>(budget_, row.score.excess.size()));
    if (backwards) std::reverse(counts.begin(), counts.end());
    std::string text;
    for (const std::uint64_t t : counts) {
      // A point above the frame is clipped, so its exact height does not matter.
      const double excess = std::min(row.score.excess[t - 1].*member, 3 * highest_);
      text += fmt::format("{}{},{}", text.empty() ? "" : " ",
                          number(across(static_cast<double>(t))), number(up(excess)));
    }
    return text;
  }

  /// Returns a line in its band, styled by `css` or `colour`.
  std::string curve(const ReplayRow& row, const std::string& css, const std::string& colour) const {
    const bool coloured = css.empty();
    const std::string fill = coloured ? "fill=\"" + colour + "\"" : "class=\"" + css + "-band\"";
    const std::string stroke =
        coloured ? "stroke=\"" + colour + "\"" : "class=\"" + css + "\" stroke-dasharray=\"5 3\"";
    return "<polygon points=\"" + points(row, &Estimate::low, false) + " " +
           points(row, &Estimate::high, true) + "\" " + fill + " fill-opacity=\"0.15\"/>\n" +
           "<polyline points=\"" + points(row, &Estimate::value, false) + "\" " + stroke +
           " fill=\"none\" stroke-width=\"1.6\"/>\n";
  }

  const Replay& replay_;
  std::string id_;
  double x_, y_;
  std::uint64_t budget_;
  double highest_;  ///< excess at the upper edge: random search's at the first evaluation of P
};

/// Returns the strategies without the control, in the order of the rows.
std::vector<std::string> drawn_strategies(const std::vector<Replay>& replays) {
  std::vector<std::string> names;
  for (const Replay& replay : replays) {
    for (const ReplayRow& row : replay.rows) {
      const bool known = std::ranges::find(names, row.strategy) != names.end();
      if (!known && row.strategy != replay.control.strategy) names.push_back(row.strategy);
    }
  }
  return names;
}

std::string legend_entry(double x, double y, const std::string& stroke, const std::string& name) {
  return "<line x1=\"" + number(x) + "\" y1=\"" + number(y - 4) + "\" x2=\"" + number(x + 22) +
         "\" y2=\"" + number(y - 4) + "\" " + stroke + " stroke-width=\"2.4\"/>\n" +
         text_at(x + 28, y, "class=\"text\"", name);
}

std::string legend(const std::vector<std::string>& strategies, std::size_t across) {
  std::string text;
  for (std::size_t i = 0; i <= strategies.size(); ++i) {
    const std::size_t line = i / across;
    const double x = kMargin + kLegendColumn * static_cast<double>(i % across);
    const double y = kMargin + kTitle + kLegendLine * static_cast<double>(line) + 14;
    text +=
        i < strategies.size()
            ? legend_entry(x, y, std::string("stroke=\"") + svg::colour(i) + "\"", strategies[i])
            : legend_entry(x, y, "class=\"control\" stroke-dasharray=\"5 3\"", "random");
  }
  return text;
}

}  // namespace

std::string curves_svg(const std::vector<Replay>& replays, std::uint64_t budget) {
  const std::size_t columns =
      replays.size() == kSquare ? 2 : std::clamp<std::size_t>(replays.size(), 1, kMostColumns);
  const std::size_t lines = (replays.size() + columns - 1) / columns;
  const double width = 2 * kMargin + kPanelWidth * static_cast<double>(columns);
  const std::vector<std::string> strategies = drawn_strategies(replays);
  const auto entries = static_cast<std::size_t>((width - 2 * kMargin) / kLegendColumn);
  const std::size_t legend_lines = strategies.size() / entries + 1;
  const double head = kMargin + kTitle + kMargin + kLegendLine * static_cast<double>(legend_lines);
  const double height = head + kPanelHeight * static_cast<double>(lines) + kMargin;
  std::string text = svg::begin(width, height, kStyle);
  text += text_at(kMargin, kMargin + 14, "class=\"text\" font-weight=\"600\"",
                  "Best so far, above the optimum: mean of the runs and its 95 % interval");
  text += legend(strategies, entries);
  for (std::size_t i = 0; i < replays.size(); ++i) {
    const double x = kMargin + kPanelWidth * static_cast<double>(i % columns);
    const std::size_t row = i / columns;
    const double y = head + kPanelHeight * static_cast<double>(row);
    text += Panel(replays[i], i, x, y, budget).svg(strategies);
  }
  return text + "</svg>\n";
}

}  // namespace fatune
