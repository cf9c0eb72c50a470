// problem_json.cpp - contestants, outcomes with their reasons, and what the hardware allows.
#include "out/page/problem_json.hpp"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "model/problem/work.hpp"
#include "model/results/physics.hpp"
#include "out/page/candidates_json.hpp"
#include "out/page/rounded.hpp"

namespace fatune {
namespace {

constexpr std::size_t kReasonsShown = 12;  // of an outcome, the most frequent; chosen
constexpr double kPerSecond = 1e6;         // of a rate a microsecond

Json timing_json(const Timing& timing) {
  return {{"us", rounded(timing.median_us)},
          {"low", timing.ci95_low_us ? Json(rounded(*timing.ci95_low_us)) : Json()},
          {"high", timing.ci95_high_us ? Json(rounded(*timing.ci95_high_us)) : Json()},
          {"q1", rounded(timing.q1_us)},
          {"q3", rounded(timing.q3_us)},
          {"samples", timing.samples}};
}

Json ratio_json(const Ratio& ratio) {
  return {
      {"value", rounded(ratio.value)}, {"low", rounded(ratio.low)}, {"high", rounded(ratio.high)}};
}

Json rounds_json(const std::vector<double>& rounds) {
  Json values = Json::array();
  for (const double value : rounds) values.push_back(rounded(value));
  return values;
}

void add_measurements(const FinalRecord& record, Json& object) {
  if (record.hot) {
    object["hot"] = timing_json(*record.hot);
    const Seconds time = to_seconds(Micros(record.hot->median_us));
    if (counts_flops(record.problem)) {
      object["tflops"] = rounded((flops(record.problem) / time).value);
    } else {
      object["gbytes_per_s"] = rounded(gigabytes_per_second(record.problem, time));
    }
  }
  if (record.cold) object["cold"] = timing_json(*record.cold);
  if (!record.hot_rounds_us.empty()) object["hot_rounds"] = rounds_json(record.hot_rounds_us);
  if (!record.cold_rounds_us.empty()) object["cold_rounds"] = rounds_json(record.cold_rounds_us);
  if (record.verification) {
    object["margin"] = rounded(record.verification->margin);
    object["gates"] = record.verification->gates;
  }
  if (record.resources) {
    const Resources& used = *record.resources;
    object["registers"] = used.registers;
    object["shared_bytes"] = used.static_shared_bytes + used.dynamic_shared_bytes;
  }
  if (record.conditions) {
    object["sm_clock_mhz"] = {record.conditions->sm_clock_mhz_min,
                              record.conditions->sm_clock_mhz_max};
    object["temperature_c"] = record.conditions->temperature_c;
    object["throttled"] = throttle_names(record.conditions->throttle_reasons);
  }
}

Json final_json(const FinalRecord& record, const Standing& standing) {
  Json object = {
      {"impl", record.impl},     {"role", record.role},     {"kernel", record.kernel},
      {"id", record.id},         {"config", record.config}, {"outcome", name(record.outcome)},
      {"reason", record.reason}, {"detail", record.detail}, {"external", record.external}};
  add_measurements(record, object);
  if (standing.to_baseline) object["ratio"] = ratio_json(*standing.to_baseline);
  object["ties_with_best"] = standing.ties_with_best;
  object["verdict"] = standing.verdict;
  return object;
}

/// The best's time over that of each baseline: medians alone, the interval that counts is the
/// gate's.
void add_gains(const ProblemResult& result, const std::string& objective, Json& finals) {
  const FinalRecord* best = result.best();
  if (best == nullptr || !objective_timing(*best, objective)) return;
  for (std::size_t i = 0; i < result.finals.size(); ++i) {
    const FinalRecord& other = result.finals[i];
    const auto& timing = objective_timing(other, objective);
    if (other.role != "baseline" || other.outcome != Outcome::kMeasured || !timing) continue;
    finals[i]["best_over_this"] =
        rounded(objective_timing(*best, objective)->median_us / timing->median_us);
  }
}

Json finals_json(const ProblemResult& result, const JournalHeader& header) {
  Json finals = Json::array();
  for (std::size_t i = 0; i < result.finals.size(); ++i)
    finals.push_back(final_json(result.finals[i], result.standings[i]));
  add_gains(result, header.plan.objective == "cold" ? "cold" : "hot", finals);
  return finals;
}

/// Numbers differ from candidate to candidate where the reason is the same.
std::string without_numbers(const std::string& reason) {
  std::string text;
  for (std::size_t i = 0; i < reason.size(); ++i) {
    const auto digit = [&](std::size_t at) { return reason[at] >= '0' && reason[at] <= '9'; };
    const bool inside_word =
        i > 0 &&
        (std::isalpha(static_cast<unsigned char>(reason[i - 1])) != 0 || reason[i - 1] == '_');
    if (!digit(i) || inside_word) {
      text += reason[i];
      continue;
    }
    while (i + 1 < reason.size() && (digit(i + 1) || reason[i + 1] == '.')) ++i;
    if (reason[i] == '.') --i;
    text += "#";
  }
  return text;
}

struct Reasons {
  std::size_t count = 0;
  std::map<std::string, std::pair<std::size_t, std::string>> by_kind;  ///< how many, the first
};

Json reasons_json(const Reasons& reasons) {
  std::vector<std::pair<std::size_t, std::string>> sorted;
  for (const auto& [kind, entry] : reasons.by_kind) sorted.push_back(entry);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (sorted.size() > kReasonsShown) sorted.resize(kReasonsShown);
  Json list = Json::array();
  for (const auto& [count, example] : sorted)
    list.push_back({{"count", count}, {"example", example}});
  return list;
}

Json outcomes_json(const PageProblem& problem) {
  std::map<Outcome, Reasons> outcomes;
  for (const JournalGroup& group : problem.groups) {
    for (const ToldRecord& config : group.configs) {
      Reasons& reasons = outcomes[config.record.outcome];
      ++reasons.count;
      if (config.record.reason.empty()) continue;
      auto& [count, example] = reasons.by_kind[without_numbers(config.record.reason)];
      if (++count == 1) example = config.record.reason;
    }
  }
  Json list = Json::array();
  for (const auto& [outcome, reasons] : outcomes) {
    list.push_back(
        {{"outcome", name(outcome)}, {"count", reasons.count}, {"reasons", reasons_json(reasons)}});
  }
  return list;
}

Json hardware_json(const Problem& problem, const Environment& environment) {
  const PeakRates peak = peak_rates(problem, environment);
  if (!peak.unknown.empty()) return {{"unknown", peak.unknown}};
  const PhysicsFloor floor = physics_floor(problem, environment);
  return {{"tensor_tflops", rounded(peak.flops * kPerSecond * 1e-12)},
          {"tensor_origin", peak.flops_origin},
          {"memory_tbs", rounded(peak.memory_bytes * kPerSecond * 1e-12)},
          {"memory_origin", peak.memory_origin},
          {"cache_tbs", rounded(peak.cache_bytes * kPerSecond * 1e-12)},
          {"cache_origin", peak.cache_origin},
          {"hot_floor", {{"us", rounded(floor.hot.time.value)}, {"why", floor.hot.why}}},
          {"cold_floor", {{"us", rounded(floor.cold.time.value)}, {"why", floor.cold.why}}}};
}

}  // namespace

Json problem_json(const PageProblem& problem, const JournalHeader& header, Depth depth) {
  const ProblemResult& result = problem.result;
  const Problem& what = result.problem.problem;
  Json object = {{"name", result.problem.name},
                 {"shape", describe(what)},
                 {"problem", to_json(what)},
                 {"flops", flops(what).value},
                 {"least_bytes", least_bytes(what).value},
                 {"has_best", result.best() != nullptr},
                 {"finals", finals_json(result, header)},
                 {"gate", nullptr}};
  if (result.gate) {
    object["gate"] = {{"baseline", result.gate->baseline},
                      {"ratio", ratio_json(result.gate->ratio)},
                      {"threshold", result.gate->threshold},
                      {"passed", result.gate->passed}};
  }
  object["outcomes"] = outcomes_json(problem);
  object["hardware"] = hardware_json(what, header.environment);
  add_candidates(problem, header, depth, object);
  return object;
}

}  // namespace fatune
