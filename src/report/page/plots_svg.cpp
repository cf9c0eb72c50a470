// plots_svg.cpp: Draws bars with intervals, and the best time over the evaluations.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "core/svg.hpp"
#include "core/text.hpp"
#include "report/page/colours.hpp"
#include "report/page/report_page.hpp"

namespace fatune {
namespace {

using svg::line_at, svg::number, svg::text_at;

constexpr double kWidth = 760, kMargin = 16, kHead = 56, kFoot = 44;
constexpr double kLabels = 190, kValues = 200, kRow = 26, kBar = 14;
constexpr double kPlotHeight = 300, kAxis = 56;
/// Cuts bars at this ratio to the fastest baseline, to keep the others distinct; chosen.
constexpr double kLongestBar = 3;
constexpr double kHighestDot = 6;  // times the best; slower dots lie on the upper edge; chosen
constexpr const char* kDots =
    ".dot { stroke-width: 3.4; stroke-linecap: round; fill: none }\n"
    ".best { stroke-width: 2; fill: none; stroke: #1f2328 }\n"
    "@media (prefers-color-scheme: dark) { .best { stroke: #e6edf3 } }\n";

std::string title_of(const PageProblem& problem, const JournalHeader& header) {
  return describe(problem.result.problem) + " on " + header.environment.device_name +
         (header.environment.recorded ? " (recorded)" : "") +
         (header.plan.skip_correctness ? ", correctness not checked" : "");
}

/// Returns the CSS class that gives currentColor the kernel's colour.
std::string colour_class(const std::string& kernel) {
  return fmt::format("k{}", kernel_colour(kernel));
}

std::string colour_rules() {
  std::string light, dark;
  const auto colours = kernel_colours();
  for (std::size_t i = 0; i < colours.size(); ++i) {
    light += fmt::format(".k{} {{ color: {} }}\n", i, colours[i].light);
    dark += fmt::format("  .k{} {{ color: {} }}\n", i, colours[i].dark);
  }
  return light + "@media (prefers-color-scheme: dark) {\n" + dark + "}\n";
}

std::string head(const std::string& title, const std::string& subtitle) {
  return text_at(kMargin, 26, "class=\"text\" font-weight=\"600\" font-size=\"14\"", title) +
         text_at(kMargin, 44, "class=\"faint\"", subtitle);
}

/// Returns the best, the best of each other kernel, and every baseline, fastest first.
std::vector<const FinalRecord*> bar_rows(const PageProblem& problem, const std::string& time) {
  std::vector<const FinalRecord*> rows;
  std::set<std::string> seen;
  for (const FinalRecord& record : problem.result.finals) {
    const bool timed = record.outcome == Outcome::kMeasured && timing_of(record, time);
    if (timed && seen.insert(record.impl).second) rows.push_back(&record);
  }
  return rows;
}

double longest_bar(const std::vector<const FinalRecord*>& rows, const std::string& time) {
  double longest = 0, baseline = 0;
  for (const FinalRecord* record : rows) {
    const double us = timing_of(*record, time)->median_us;
    longest = std::max(longest, us);
    if (record->is_baseline() && baseline == 0) baseline = us;
  }
  return baseline > 0 ? std::min(longest, kLongestBar * baseline) : longest;
}

std::string whisker(const Timing& timing, double y, double scale) {
  if (!timing.ci95_low_us || !timing.ci95_high_us) return "";
  const double from = kLabels + *timing.ci95_low_us * scale;
  const double to = kLabels + *timing.ci95_high_us * scale;
  return line_at(from, y, to, y, "axis") + line_at(from, y - 4, from, y + 4, "axis") +
         line_at(to, y - 4, to, y + 4, "axis");
}

std::string value_text(const Timing& timing) {
  std::string text = fixed(timing.median_us, 2) + " us";
  if (timing.ci95_low_us && timing.ci95_high_us)
    text += " [" + fixed(*timing.ci95_low_us, 2) + ", " + fixed(*timing.ci95_high_us, 2) + "]";
  return text;
}

std::string bars_svg(const PageProblem& problem, const JournalHeader& header,
                     const std::string& time, const std::vector<const FinalRecord*>& rows) {
  const double longest = longest_bar(rows, time);
  const double space = kWidth - kLabels - kValues - kMargin;
  const double scale = space / longest;
  const double height = kHead + kRow * static_cast<double>(rows.size()) + kMargin;
  std::string text = svg::begin(kWidth, height, colour_rules());
  text += head(title_of(problem, header),
               time + " latency: median and 95 % interval of the final phase's rounds");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const FinalRecord& record = *rows[i];
    const Timing& timing = *timing_of(record, time);
    const double y = kHead + kRow * (static_cast<double>(i) + 0.5);
    const bool cut = timing.median_us > longest;
    const double length = std::min(timing.median_us, longest) * scale;
    text += text_at(kLabels - 8, y + 4, "class=\"text\" text-anchor=\"end\"", record.impl);
    text += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {}/>\n",
                        number(kLabels), number(y - kBar / 2), number(length), number(kBar),
                        record.is_baseline() ? std::string("fill=\"#8c959f\"")
                                             : fmt::format("class=\"{}\" fill=\"currentColor\"",
                                                           colour_class(record.kernel)));
    if (!cut) text += whisker(timing, y, scale);
    text += text_at(kLabels + length + 8, y + 4, "class=\"text\"",
                    (cut ? "… " : "") + value_text(timing));
  }
  return text + "</svg>\n";
}

/// Returns infinity for a candidate without a time.
double time_of(const TriedConfig& tried) {
  const ToldRecord& config = *tried.config;
  return config.record.outcome == Outcome::kMeasured ? config.us.value_or(HUGE_VAL) : HUGE_VAL;
}

/// The logarithmic axes of the candidates' times.
class Frame {
 public:
  Frame(double low, double high, std::size_t count)
      : low_(std::log(low)), high_(std::log(high)), count_(static_cast<double>(count)) {}
  double x(std::size_t number) const {
    return kAxis + (kWidth - kAxis - kMargin) * static_cast<double>(number) / count_;
  }
  double y(double us) const {
    const double share = (std::clamp(std::log(us), low_, high_) - low_) / (high_ - low_);
    return kHead + kPlotHeight * (1 - share);
  }
  std::string axes() const {
    std::string text;
    const double low = std::exp(low_), high = std::exp(high_);
    const double step = svg::tick_step(high - low);
    for (double tick = std::ceil(low / step) * step; tick <= high; tick += step) {
      text += line_at(kAxis, y(tick), kWidth - kMargin, y(tick), "grid");
      text += text_at(kAxis - 6, y(tick) + 4, "class=\"faint\" text-anchor=\"end\"",
                      fixed(tick, step < 1 ? 1 : 0));
    }
    const auto stride = static_cast<std::size_t>(std::max(1.0, svg::tick_step(count_)));
    for (std::size_t n = 0; n <= static_cast<std::size_t>(count_); n += stride)
      text += text_at(x(n), kHead + kPlotHeight + 18, "class=\"faint\" text-anchor=\"middle\"",
                      std::to_string(n));
    return text + text_at((kAxis + kWidth) / 2, kHead + kPlotHeight + 36,
                          "class=\"faint\" text-anchor=\"middle\"", "candidates tried");
  }

 private:
  double low_, high_, count_;
};

std::string legend(const PageProblem& problem) {
  std::string text;
  double x = kWidth - kMargin;
  for (std::size_t kernel = problem.groups.size(); kernel-- > 0;) {
    const std::string& name = problem.groups[kernel].kernel;
    text += text_at(x, 44, "class=\"text\" text-anchor=\"end\"", name);
    x -= 8.0 * static_cast<double>(name.size()) + 14;
    text +=
        fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"40\" r=\"4\" fill=\"currentColor\"/>\n",
                    colour_class(name), number(x));
    x -= 14;
  }
  return text;
}

std::string convergence_svg(const PageProblem& problem, const PageRunHead& run,
                            const std::vector<TriedConfig>& all, double best) {
  double worst = best;
  for (const TriedConfig& tried : all) {
    if (std::isfinite(time_of(tried))) worst = std::max(worst, time_of(tried));
  }
  const Frame frame(best * 0.95, std::min(worst * 1.05, best * kHighestDot), all.size());
  std::vector<std::string> dots(problem.groups.size());
  std::string line;
  double so_far = HUGE_VAL;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double us = time_of(all[i]);
    if (!std::isfinite(us)) continue;
    const std::string x = number(frame.x(i + 1)), y = number(frame.y(us));
    dots[all[i].kernel] += fmt::format("M{} {}h0", x, y);
    if (us >= so_far) continue;
    line += line.empty() ? fmt::format("M{} {}", x, y) : fmt::format("H{}V{}", x, y);
    so_far = us;
  }
  line += "H" + number(frame.x(all.size()));
  std::string text = svg::begin(kWidth, kHead + kPlotHeight + kFoot, colour_rules() + kDots);
  text +=
      head(title_of(problem, run.header),
           run.header.plan.strategy + ": best so far and every candidate, us " + run.search_time);
  text += legend(problem) + frame.axes();
  for (std::size_t kernel = 0; kernel < dots.size(); ++kernel) {
    text += fmt::format("<path class=\"dot {}\" stroke=\"currentColor\" d=\"{}\"/>\n",
                        colour_class(problem.groups[kernel].kernel), dots[kernel]);
  }
  return text + "<path class=\"best\" d=\"" + line + "\"/>\n</svg>\n";
}

}  // namespace

std::vector<Plot> plots(const PageProblem& problem, const PageRunHead& run) {
  std::vector<Plot> drawn;
  const std::string time = final_time(problem.result.finals, run.header.plan.objective);
  const auto rows = bar_rows(problem, time);
  if (!rows.empty()) drawn.push_back({"baselines", bars_svg(problem, run.header, time, rows)});
  const std::vector<TriedConfig> all = tried(problem);
  double best = HUGE_VAL;
  for (const TriedConfig& each : all) best = std::min(best, time_of(each));
  if (std::isfinite(best))
    drawn.push_back({"convergence", convergence_svg(problem, run, all, best)});
  return drawn;
}

}  // namespace fatune
