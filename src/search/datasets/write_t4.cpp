// write_t4.cpp - candidates to T4's results, each with what became of it.
#include "search/datasets/write_t4.hpp"

#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/units.hpp"
#include "model/results/sweep_result.hpp"

namespace fatune {
namespace {

/// Compiling under the schema's name and under that of the files there are.
Json times_of(const CandidateRecord& record) {
  const double compilation = record.spent.compile_s * kMsPerSecond;
  return {{"compilation_time", compilation},
          {"compilation", compilation},
          {"benchmark", record.spent.timing_s * kMsPerSecond},
          {"framework", 0},
          {"search_algorithm", 0},
          {"validation", record.spent.verify_s * kMsPerSecond},
          {"runtimes", Json::array()}};
}

void add(Json& measurements, const char* name, Json value, const char* unit) {
  measurements.push_back({{"name", name}, {"value", std::move(value)}, {"unit", unit}});
}

Json measurements_of(const ToldRecord& config, const std::string& objective) {
  Json measurements = Json::array();
  const CandidateRecord& record = config.record;
  if (config.us) add(measurements, "time", *config.us / kUsPerMs, "ms");
  if (const auto& timing = objective_timing(record, objective)) {
    add(measurements, "time_q1", timing->q1_us / kUsPerMs, "ms");
    add(measurements, "time_q3", timing->q3_us / kUsPerMs, "ms");
    add(measurements, "time_min", timing->min_us / kUsPerMs, "ms");
    add(measurements, "samples", timing->samples, "");
  }
  if (record.verification && !record.verification->skipped)
    add(measurements, "error_over_tolerance", record.verification->margin, "");
  if (record.resources) {
    add(measurements, "registers", record.resources->registers, "");
    const auto shared =
        record.resources->static_shared_bytes + record.resources->dynamic_shared_bytes;
    add(measurements, "shared_memory", shared, "bytes");
  }
  add(measurements, "outcome", name(record.outcome), "");
  if (!record.reason.empty()) add(measurements, "reason", record.reason, "");
  return measurements;
}

/// The schema's word for the reader's; it has none for a candidate without a usable time.
std::string invalidity_of(const ToldRecord& config) {
  if (config.us) return "correct";
  return config.failure == "unusable" ? "runtime" : config.failure;
}

bool shown_correct(const CandidateRecord& record) {
  return record.verification && record.verification->passed && !record.verification->skipped;
}

}  // namespace

Json t4_results(const JournalGroup& group, const Journal& journal) {
  const std::string objective = timed_objective(journal);
  Json results = Json::array();
  for (const ToldRecord& config : group.configs) {
    const bool repeats = config.record.outcome == Outcome::kDuplicate;
    const bool correct = repeats ? config.us.has_value() : shown_correct(config.record);
    results.push_back({{"configuration", config.record.config},
                       {"times", times_of(config.record)},
                       {"invalidity", invalidity_of(config)},
                       {"correctness", correct ? 1 : 0},
                       {"measurements", measurements_of(config, objective)},
                       {"objectives", Json::array({"time"})}});
  }
  return {{"schema_version", "1.0.0"},
          {"metadata",
           {{"timeunit", "milliseconds"},
            {"kernel", group.kernel},
            {"problem", to_json(group.problem.problem)},
            {"device", journal.header.environment.device_name},
            {"timing", objective}}},
          {"results", std::move(results)}};
}

}  // namespace fatune
