// progress.cpp: Formats and redraws progress.
#include "report/text/progress.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "core/text.hpp"

namespace fatune {
namespace {

constexpr std::uint64_t kPlainCandidates = 25;
constexpr std::uint64_t kPlainLines = 20;  // lines of a phase, beside the timed lines
constexpr double kPlainSeconds = 10;
constexpr double kLiveSeconds = 0.05;  // seconds between redraws; faster redraws flicker
constexpr std::size_t kSparkWidth = 16;
constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr const char* kClearLine = "\r\x1b[K";
constexpr const char* kLineUp = "\x1b[1A";

/// Returns the first `columns` code points; each printed code point is one column wide.
std::string cut(const std::string& text, std::size_t columns) {
  if (display_width(text) <= columns) return text;
  std::size_t seen = 0, end = 0;
  const auto continues = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U;
  };
  for (; end < text.size(); ++end) {
    if (!continues(end) && ++seen == columns) break;
  }
  return text.substr(0, end) + (columns > 0 ? "…" : "");
}

std::string describe_outcomes(const SweepProgress& progress) {
  std::vector<std::string> parts;
  for (auto outcome = kAllOutcomes.rbegin(); outcome != kAllOutcomes.rend(); ++outcome) {
    const auto count = progress.outcomes.find(*outcome);
    if (count == progress.outcomes.end()) continue;
    parts.push_back(fmt::format("{} {}", count->second, name(*outcome)));
  }
  return join(parts, ", ");
}

std::string describe_place(const SweepProgress& progress) {
  if (progress.problems < 2) return progress.problem;
  return fmt::format("[{}/{}] {}", progress.problem_number, progress.problems, progress.problem);
}

std::string no_best(const SweepProgress& progress) {
  return progress.has_best ? "no correct candidate yet" : "";
}

std::string describe_best(const SweepProgress& progress) {
  if (!progress.best_us) return no_best(progress);
  return "best " + describe(Micros(*progress.best_us)) + " " + progress.best_config;
}

std::string describe_counts(const SweepProgress& progress) {
  return fmt::format("{} {}/{}", progress.phase, progress.done, progress.all);
}

}  // namespace

std::string sparkline(const std::vector<double>& values, std::size_t width) {
  if (values.empty() || width == 0) return "";
  const std::size_t bars = std::min(width, values.size());
  std::vector<double> heights;
  for (std::size_t bar = 1; bar <= bars; ++bar)
    heights.push_back(std::log(values[bar * values.size() / bars - 1]));
  const auto [low, high] = std::minmax_element(heights.begin(), heights.end());
  std::string text;
  for (const double height : heights) {
    const double share = *high > *low ? (height - *low) / (*high - *low) : 0.0;
    text += kBars[static_cast<std::size_t>(std::lround(share * 7))];
  }
  return text;
}

std::string live_lines(const SweepProgress& progress, std::size_t columns, const Paint& paint) {
  std::string first = describe_place(progress) + " · " + describe_counts(progress);
  const std::string outcomes = describe_outcomes(progress);
  if (!outcomes.empty()) first += " · " + outcomes;
  first += " · " + describe(Seconds(progress.elapsed_s));
  if (progress.left_s) first += ", about " + describe(Seconds(*progress.left_s)) + " left";
  const std::string spark = sparkline(progress.best_history_us, kSparkWidth);
  std::string second = (spark.empty() ? "" : spark + " ") + describe_best(progress);
  if (!progress.activity.empty()) second += (second.empty() ? "" : " · ") + progress.activity;
  second = cut(second, columns > 2 ? columns - 2 : 0);
  // Adds colours after the cut, because escapes have no width, and only if the sparkline is whole.
  if (!spark.empty() && second.starts_with(spark + " "))
    second = paint(Tone::kGood, spark) + second.substr(spark.size());
  return cut(first, columns) + "\n  " + second;
}

std::string plain_line(const SweepProgress& progress) {
  std::string text = describe_place(progress) + ": " + describe_counts(progress);
  const std::string none = no_best(progress);
  if (progress.best_us) text += ", best " + describe(Micros(*progress.best_us));
  if (!progress.best_us && !none.empty()) text += ", " + none;
  text += ", " + describe(Seconds(progress.elapsed_s));
  if (progress.left_s) text += ", about " + describe(Seconds(*progress.left_s)) + " left";
  return text;
}

ProgressDisplay::ProgressDisplay(std::ostream& out, ProgressStyle style,
                                 std::function<std::size_t()> columns, const Paint& paint)
    : out_(out), style_(style), columns_(std::move(columns)), paint_(paint) {}

bool ProgressDisplay::is_due(const SweepProgress& progress) const {
  const bool changed =
      !any_ || progress.phase != shown_.phase || progress.problem_number != shown_.problem_number;
  const double since = progress.elapsed_s - shown_.elapsed_s;
  const bool last = progress.done == progress.all && shown_.done != progress.done;
  if (changed || last) return true;
  if (style_ == ProgressStyle::kLive) return since >= kLiveSeconds;
  const std::uint64_t step = std::max(kPlainCandidates, progress.all / kPlainLines);
  return progress.done >= shown_.done + step || since >= kPlainSeconds;
}

void ProgressDisplay::show(const SweepProgress& progress) {
  if (!is_due(progress)) return;
  clear();
  shown_ = progress;
  any_ = true;
  if (style_ == ProgressStyle::kPlain) out_ << printable(plain_line(progress)) << '\n';
  draw();
  out_.flush();
}

void ProgressDisplay::clear() {
  if (!on_screen_) return;
  out_ << kClearLine << kLineUp << kClearLine;
  on_screen_ = false;
}

void ProgressDisplay::draw() {
  if (style_ != ProgressStyle::kLive || !any_ || on_screen_) return;
  const std::size_t columns = columns_();
  out_ << printable(live_lines(shown_, columns > 1 ? columns - 1 : 1, paint_));
  on_screen_ = true;
}

}  // namespace fatune
