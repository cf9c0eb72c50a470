// time.cpp: Names times and objectives, and lists the times of each objective.
#include "model/results/time.hpp"

#include "core/fields.hpp"
#include "core/words.hpp"

namespace fatune {

static constexpr std::array kAllObjectives = {Objective::kInLayer, Objective::kHot,
                                              Objective::kCold, Objective::kScore};

std::string_view name(Time time) {
  constexpr std::array<std::string_view, kAllTimes.size()> kNames = {"in_layer", "plain", "hot",
                                                                     "cold"};
  return kNames.at(static_cast<std::size_t>(time));
}

std::string describe(Time time) {
  return std::string(time == Time::kInLayer ? "in layer" : name(time));
}

Result<Time> parse_time(std::string_view text) { return parse_word<Time>(text, kAllTimes); }

FieldWord<Time> word_of(const Time*) { return {parse_time, kAllTimes}; }

std::string_view name(Objective objective) {
  return objective == Objective::kScore ? "score" : name(search_time(objective));
}

Result<Objective> parse_objective(std::string_view text) {
  return parse_word<Objective>(text, kAllObjectives);
}

FieldWord<Objective> word_of(const Objective*) { return {parse_objective, kAllObjectives}; }

Time search_time(Objective objective) {
  if (objective == Objective::kInLayer) return Time::kInLayer;
  return objective == Objective::kCold ? Time::kCold : Time::kHot;
}

std::span<const Time> ranking_times(Objective objective) {
  static constexpr std::array kLaunched = {Time::kInLayer, Time::kPlain, Time::kHot};
  static constexpr std::array kCold = {Time::kCold};
  if (objective == Objective::kCold) return kCold;
  return std::span(kLaunched).subspan(objective == Objective::kInLayer ? 0 : 1);
}

}  // namespace fatune
