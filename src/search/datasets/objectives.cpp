// objectives.cpp: Tells whether more or less of an objective is better, and makes costs of values.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "search/datasets/formats.hpp"

namespace fatune {
namespace {

/// Parts of names; the last of them in a name decides: more "energy_efficiency" is better.
constexpr std::array<std::string_view, 13> kMinimised = {
    "time", "energy", "cost",  "duration", "latency",  "loss",   "error",
    "miss", "cycle",  "power", "delay",    "overhead", "elapsed"};
constexpr std::array<std::string_view, 13> kMaximised = {
    "score", "fitness", "accuracy",  "throughput", "goodput", "bandwidth", "perf",
    "speed", "effici",  "occupancy", "utilis",     "utiliz",  "reward"};
/// Units under a rate: "GB/s", "GFLOPS/W", "ops_per_joule", "flops/cycle", "ns/day".
constexpr const char* kUnderRate =
    "[mun]?s|secs?|seconds?|min|minutes?|h|hours?|days?|k?wh?|watts?|k?j|joules?|cycles?|clks?|"
    "clocks?";
/// "GFLOPS", "TOPS", "FPS", "QPS", "MLUPS", "GUPS", "MTEPS", "Gbps", "GBs".
constexpr const char* kRate =
    "[kmgtpe]?(flops?|i?ops|lups|cups|ups|teps|[bfhiqrstpw]ps)|[kmgt]i?bs";

Better better_by_words(std::string_view text) {
  Better better = Better::kUnknown;
  std::size_t latest = 0;
  const auto look_for = [&](std::span<const std::string_view> words, Better meant) {
    for (const std::string_view word : words) {
      const std::size_t at = text.rfind(word);
      if (at == std::string_view::npos || at + word.size() <= latest) continue;
      latest = at + word.size();
      better = meant;
    }
  };
  look_for(kMinimised, Better::kLess);
  look_for(kMaximised, Better::kMore);
  return better;
}

std::vector<std::string> words_of(std::string text) {
  for (char& c : text) c = in_class(c, "a-z0-9") ? c : ' ';
  return split(text, ' ');
}

/// Replaces values that no search can use by failures.
void drop_unusable(Recording& recording) {
  const bool times = seconds_per(recording.unit) > 0;
  std::size_t infinite = 0, negative = 0, failed = 0;
  for (RecordedEntry& entry : recording.entries) {
    if (!entry.cost) continue;
    const bool finite = std::isfinite(*entry.cost);
    const bool endless = finite && times && *entry.cost >= kNoTime;
    if (finite && !endless && (!times || *entry.cost > 0)) continue;
    ++(endless ? failed : finite ? negative : infinite);
    entry.cost.reset();
    entry.failure = "unusable";
  }
  const auto remark = [&](std::size_t count, std::string_view what) {
    if (count > 0) recording.remarks.push_back(fmt::format("{} {}: taken as failed", count, what));
  };
  remark(infinite, "values are not numbers");
  remark(negative, "times are not above zero");
  remark(failed, "times are 1e20 or more");
}

double turned(double value, Turned how) {
  if (how == Turned::kNo) return value;
  return how == Turned::kInverse ? 1 / value : -value;
}

}  // namespace

Result<std::vector<std::string>> read_objectives(const Fields& fields, const char* key) {
  if (fields.has(key) && fields.json().at(key).is_string()) {
    FATUNE_TRY(std::string only, fields.text(key));
    return std::vector{std::move(only)};
  }
  FATUNE_TRY(auto names, fields.texts_or(key, {}));
  if (names.empty()) names.emplace_back("time");
  return names;
}

void take_first(const std::vector<std::string>& objectives, Recording& recording) {
  recording.objective = objectives.front();
  if (objectives.size() == 1) return;
  recording.remarks.push_back(
      fmt::format("objectives {}: only the first counts", join(objectives, ", ")));
}

Better better_of(std::string_view objective) {
  std::string text = replaced(lower(objective), "timestep", "step");
  for (const char* per : {" per ", "_per_", "-per-"}) text = replaced(text, per, "/");
  if (const std::size_t slash = text.rfind('/'); slash != std::string::npos) {
    const std::string below = words_of(first_line(text.substr(slash + 1))).front();
    text.resize(slash);
    if (better_by_words(text) != Better::kLess && matches(below, kUnderRate)) return Better::kMore;
  }
  const std::vector<std::string> words = words_of(text);
  const auto is_rate = [](const std::string& word) { return matches(word, kRate); };
  if (std::ranges::any_of(words, is_rate)) return Better::kMore;
  const Better better = better_by_words(text);
  if (better != Better::kUnknown) return better;
  if (words.back().ends_with("rate")) return Better::kMore;
  return seconds_per(words.back()) > 0 ? Better::kLess : Better::kUnknown;
}

bool is_time(std::string_view objective) {
  return objective.starts_with("time") && better_of(objective) == Better::kLess;
}

Status settle_costs(Recording& recording) {
  drop_unusable(recording);
  Better better = seconds_per(recording.unit) > 0 ? Better::kLess : better_of(recording.objective);
  if (better == Better::kUnknown) better = better_of(recording.unit);
  if (better == Better::kUnknown) {
    return file_error(
        fmt::format("{0}: objective '{1}' does not say whether more or less of it is better; name "
                    "it '{1}_score' "
                    "in the file if more is, '{1}_cost' if less is",
                    recording.where, recording.objective));
  }
  if (better == Better::kLess) return {};
  const bool positive = all_positive(recording);
  recording.turned = positive ? Turned::kInverse : Turned::kNegative;
  for (RecordedEntry& entry : recording.entries) {
    if (entry.cost) entry.cost = turned(*entry.cost, recording.turned);
  }
  recording.remarks.push_back(fmt::format("of objective '{}' more is better: costs are {}",
                                          recording.objective, positive ? "1 / value" : "-value"));
  return {};
}

bool all_positive(const Recording& recording) {
  return std::ranges::all_of(
      recording.entries, [](const RecordedEntry& entry) { return !entry.cost || *entry.cost > 0; });
}

double recorded_value(const Recording& recording, double cost) {
  return turned(cost, recording.turned);  // each conversion is its own inverse
}

}  // namespace fatune
