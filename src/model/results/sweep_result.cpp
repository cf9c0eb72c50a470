// sweep_result.cpp - picks out of a sweep's result, and fields of its parts.
#include "model/results/sweep_result.hpp"

#include <nlohmann/json.hpp>

#include "core/fields.hpp"

namespace fatune {

void fields(Ratio& x, FieldList& f) {
  f.record("ratio", "Of two times, with its 95 % interval");
  f("ratio", x.value).required().finite().positive();
  f.pair("ci95", x.low, x.high).finite();
}

void fields(Gate& x, FieldList& f) {
  f("baseline", x.baseline).required();
  fields(x.ratio, f);
  f.record("gate", "The best against the baseline");
  f("threshold", x.threshold).finite().positive();
  f("pass", x.passed);
}

void fields(SuiteEntry& x, FieldList& f) {
  f("kernel", x.kernel);
  f("config", x.config).object().schema(kConfigSchema);
  f("speedup_over_default", x.speedup).or_null().finite().positive();
  f("best_of", x.problems);
  f("turned_down", x.turned_down).omitted();
}

void fields(SuiteChoice& x, FieldList& f) {
  f.record("choice", "The configs that all problems share, chosen ones first");
  f("order", x.order);
  f("configs", x.configs);
}

const FinalRecord* ProblemResult::best() const {
  return !finals.empty() && finals.front().is_candidate() ? &finals.front() : nullptr;
}

const std::optional<Timing>& objective_timing(const Observation& record,
                                              const std::string& objective) {
  return objective == "cold" ? record.cold : record.hot;
}

}  // namespace fatune
