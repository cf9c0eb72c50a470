// sweep_result.cpp: Selects from a sweep's result, and lists the fields of its parts.
#include "model/results/sweep_result.hpp"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "model/results/statistics.hpp"

namespace fatune {
namespace {

/// Returns the fastest baseline, by plain time if all baselines have one; null without a baseline.
const FinalRecord* fastest_launched(const std::vector<FinalRecord>& finals) {
  const auto us = [](const FinalRecord& record) {
    const auto& timing = record.plain ? record.plain : record.hot;
    return timing ? timing->median_us : std::numeric_limits<double>::infinity();
  };
  const FinalRecord* fastest = nullptr;
  for (const FinalRecord& record : finals) {
    if (!record.is_baseline() || !record.is_timed()) continue;
    if (fastest == nullptr || us(record) < us(*fastest)) fastest = &record;
  }
  return fastest;
}

}  // namespace

void fields(Ratio& x, FieldList& f) {
  f.record("ratio", "Of two times, with its 95 % interval");
  f("ratio", x.value).required().finite().positive();
  f.pair("ci95", x.low, x.high).finite();
}

void fields(Gate& x, FieldList& f) {
  f("baseline", x.baseline).required();
  f("time", x.time).about("That the ratio is of");
  fields(x.ratio, f);
  f.record("gate", "The best against the baseline");
  f("threshold", x.threshold).finite().positive();
  f("pass", x.passed);
}

const FinalRecord* ProblemResult::best() const {
  return !finals.empty() && finals.front().is_candidate() ? &finals.front() : nullptr;
}

const SavedConfig* ProblemResult::known_best() const {
  const FinalRecord* winner = best();
  if (winner == nullptr) return nullptr;
  const auto found = std::ranges::find_if(
      warm_starts, [&](const SavedConfig& each) { return same_config(each, *winner); });
  return found == warm_starts.end() ? nullptr : &*found;
}

std::string ProblemResult::why_not_tried() const {
  return valid_points == 0 && !left_out.empty() ? left_out.front() : "";
}

bool has_time(const FinalRecord& record, Time time) {
  const std::size_t rounds = rounds_of(record, time).size();
  return timing_of(record, time) && (rounds == 0 || rounds >= kLeastSamples);
}

Time final_time(const std::vector<FinalRecord>& finals, Objective objective) {
  const bool candidates = std::ranges::any_of(
      finals, [](const FinalRecord& record) { return record.is_candidate() && record.is_timed(); });
  const FinalRecord* const rival = fastest_launched(finals);
  const auto all_have = [&](Time time) {
    return std::ranges::all_of(finals, [&](const FinalRecord& record) {
      const bool counts =
          record.is_timed() && (record.is_candidate() || &record == rival || !candidates);
      return !counts || has_time(record, time);
    });
  };
  const auto times = ranking_times(objective);
  const auto first = std::ranges::find_if(times, all_have);
  return first == times.end() ? times.back() : *first;
}

}  // namespace fatune
