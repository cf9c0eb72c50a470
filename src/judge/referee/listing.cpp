// listing.cpp: Builds the known times of a problem from records and shipped configs.
#include "judge/referee/listing.hpp"

#include <tuple>

#include "core/fields.hpp"

namespace fatune {
namespace {

void floor_fields(PhysicsFloor& x, FieldList& f) {
  f("in_layer_us", x.in_layer.time.value);
  f("hot_us", x.hot.time.value).about("Of plain launches, too");
  f("cold_us", x.cold.time.value);
  f("why", x.hot.why).about("What the hot one comes from");
}

}  // namespace

std::optional<KnownTime> best_shipped(const std::vector<SavedConfig>& shipped,
                                      const Problem& problem) {
  const auto rank = [](const SavedConfig& each) {
    return std::tuple(each.time != Time::kInLayer, *each.median_us);
  };
  const SavedConfig* best = nullptr;
  for (const SavedConfig& each : shipped) {
    if (each.problem != problem || !each.median_us) continue;
    if (best == nullptr || rank(each) < rank(*best)) best = &each;
  }
  if (best == nullptr) return std::nullopt;
  return KnownTime{"fatune:" + best->kernel, best->time.value_or(Time::kHot), *best->median_us,
                   best->source};
}

std::optional<KnownTime> known_time(const FinalRecord& record, const std::string& source) {
  for (const Time time : ranking_times(Objective::kInLayer)) {
    const std::optional<Timing>& found = timing_of(record, time);
    if (found) return KnownTime{record.impl, time, found->median_us, source, record.recorded};
  }
  return std::nullopt;
}

void fields(KnownTime& x, FieldList& f) {
  f.record("known_time", "A time that a kernel can be seen beside");
  f("impl", x.impl).required();
  f("time", x.time).about("Which one it is");
  f("median_us", x.median_us).finite().positive();
  f("source", x.source).about("A file of fatune, baseline, or the id of a judgement");
  f("recorded", x.recorded).omitted().about("Measured earlier, not on this machine");
}

void fields(ListedProblem& x, FieldList& f) {
  fields(x.booked, f);
  f.as<&floor_fields>("floors", x.floors).about("Which no time on this device is below");
  f("known", x.known).omitted();
}

void fields(ProblemList& x, FieldList& f) { f("problems", x.problems).required(); }

}  // namespace fatune
