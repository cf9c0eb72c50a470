// objective.cpp - which objectives are maximised, and how their values become costs.
#include "search/datasets/objective.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace fatune {
namespace {

constexpr std::array<std::string_view, 8> kMaximised = {"score",      "fitness",   "accuracy",
                                                        "throughput", "bandwidth", "performance",
                                                        "speedup",    "speed-up"};
constexpr std::array<std::string_view, 4> kPerWhat = {"/s", "/W", "/J", "/ms"};
constexpr std::array<std::string_view, 6> kMinimised = {"time",     "energy", "cost",
                                                        "duration", "hot",    "cold"};
/// Long and short names; "miliseconds" is how files of the benchmark hub spell it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kUnits = {
    {{"nanoseconds", "ns"},
     {"microseconds", "us"},
     {"milliseconds", "ms"},
     {"miliseconds", "ms"},
     {"seconds", "s"}}};

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return small;
}

bool known_to_be_minimised(std::string_view objective) {
  return std::any_of(kMinimised.begin(), kMinimised.end(), [&](std::string_view word) {
    return lower(objective).find(word) != std::string::npos;
  });
}

/// Failures in place of values that no search can use.
void drop_unusable(Recording& recording) {
  const bool times = seconds_per(recording.unit) > 0;
  std::size_t infinite = 0, negative = 0;
  for (RecordedEntry& entry : recording.entries) {
    if (!entry.cost) continue;
    const bool finite = std::isfinite(*entry.cost);
    if (finite && (!times || *entry.cost > 0)) continue;
    ++(finite ? negative : infinite);
    entry.cost.reset();
    entry.failure = "unusable";
  }
  if (infinite > 0) {
    recording.remarks.push_back(
        fmt::format("{} values are not numbers: taken as failed", infinite));
  }
  if (negative > 0) {
    recording.remarks.push_back(
        fmt::format("{} times are not above zero: taken as failed", negative));
  }
}

double turned(double value, Turned how) {
  switch (how) {
    case Turned::kNo:
      return value;
    case Turned::kInverse:
      return 1 / value;
    case Turned::kNegative:
      return -value;
  }
  return value;
}

}  // namespace

bool more_is_better(std::string_view objective) {
  const std::string name = lower(objective);
  if (std::find(kMaximised.begin(), kMaximised.end(), name) != kMaximised.end()) return true;
  return std::any_of(kPerWhat.begin(), kPerWhat.end(),
                     [&](std::string_view end) { return objective.ends_with(end); });
}

void settle_costs(Recording& recording) {
  drop_unusable(recording);
  if (!more_is_better(recording.objective)) {
    if (seconds_per(recording.unit) <= 0 && !known_to_be_minimised(recording.objective)) {
      recording.remarks.push_back(
          fmt::format("objective '{}' is taken as one of which less is "
                      "better",
                      recording.objective));
    }
    return;
  }
  const bool positive =
      std::all_of(recording.entries.begin(), recording.entries.end(),
                  [](const RecordedEntry& entry) { return !entry.cost || *entry.cost > 0; });
  recording.turned = positive ? Turned::kInverse : Turned::kNegative;
  for (RecordedEntry& entry : recording.entries) {
    if (entry.cost) entry.cost = turned(*entry.cost, recording.turned);
  }
  recording.remarks.push_back(fmt::format("of objective '{}' more is better: costs are {}",
                                          recording.objective, positive ? "1 / value" : "-value"));
}

double recorded_value(const Recording& recording, double cost) {
  return turned(cost, recording.turned);  // each way of turning undoes itself
}

std::string_view short_unit(std::string_view unit) {
  const std::string name = lower(unit);
  const auto* found = std::find_if(kUnits.begin(), kUnits.end(),
                                   [&](const auto& each) { return each.first == name; });
  return found == kUnits.end() ? unit : found->second;
}

double seconds_per(std::string_view unit) {
  const std::string_view known = short_unit(unit);
  if (known == "ns") return 1e-9;
  if (known == "us") return 1e-6;
  if (known == "ms") return 1e-3;
  return known == "s" ? 1 : 0;
}

}  // namespace fatune
