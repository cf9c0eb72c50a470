// best.cpp - builds the objects of fatune.best/1.
#include "tune/sweep/best.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "model/problem/work.hpp"

namespace fatune {
namespace {

constexpr const char* kSchema = "fatune.best/1";

Json timing_json(const Timing& timing) {
  Json object = {{"median_us", timing.median_us}};
  if (timing.ci95_low_us && timing.ci95_high_us) {
    object["ci95_us"] = {*timing.ci95_low_us, *timing.ci95_high_us};
  }
  object["iqr_us"] = {timing.q1_us, timing.q3_us};
  object["samples"] = timing.samples;
  return object;
}

/// Shared by best, finalists and baselines: who it is and how long it takes.
Json contestant_json(const FinalRecord& record) {
  Json object = {{"impl", record.impl}};
  if (!record.kernel.empty()) object["kernel"] = record.kernel;
  if (!record.config.is_null() && !record.config.empty()) object["config"] = record.config;
  if (!record.id.empty()) object["id"] = record.id;
  if (!record.detail.empty()) object["detail"] = record.detail;
  if (record.external) object["external"] = true;
  if (record.hot) object["hot"] = timing_json(*record.hot);
  if (record.cold) object["cold"] = timing_json(*record.cold);
  if (record.hot) {
    const Seconds time = to_seconds(Micros(record.hot->median_us));
    if (counts_flops(record.problem)) {
      object["tflops"] = (flops(record.problem) / time).value;
    } else {
      object["gbytes_per_s"] = gigabytes_per_second(record.problem, time);
    }
  }
  return object;
}

void add_outcome(Json& object, const FinalRecord& record) {
  object["outcome"] = name(record.outcome);
  if (!record.reason.empty()) object["reason"] = record.reason;
}

/// Of the kernel's template and headers in this run; empty when the plan does not tell.
std::string text_hash(const FinalRecord& record, const RunPlan& plan) {
  const auto found = std::find(plan.kernels.begin(), plan.kernels.end(), record.kernel);
  const auto position = static_cast<std::size_t>(found - plan.kernels.begin());
  return position < plan.kernel_hashes.size() ? plan.kernel_hashes[position] : std::string();
}

Json best_contestant(const FinalRecord& record, const RunPlan& plan) {
  Json object = contestant_json(record);
  if (const std::string hash = text_hash(record, plan); !hash.empty()) object["text_hash"] = hash;
  if (record.verification) {
    object["verify"] = to_json(*record.verification);
    if (record.verification->sanitizer.empty())
      object["verify"]["sanitizer"] = to_json(sanitizer_not_run("not asked for (--sanitize)"));
  }
  if (record.resources) object["resources"] = to_json(*record.resources);
  if (record.conditions) object["conditions"] = to_json(*record.conditions);
  return object;
}

Json ratio_json(const Ratio& ratio) {
  return {{"ratio", ratio.value}, {"ci95", {ratio.low, ratio.high}}};
}

Json finalist_json(const FinalRecord& record, const Standing& standing) {
  Json object = contestant_json(record);
  object["role"] = record.role;
  add_outcome(object, record);
  if (standing.to_baseline) object["to_baseline"] = ratio_json(*standing.to_baseline);
  if (standing.ties_with_best) object["ties_with_best"] = true;
  if (standing.score) object["score"] = *standing.score;
  if (record.verification) object["margin"] = record.verification->margin;
  return object;
}

Json gate_json(const Gate& gate) {
  return {{"baseline", gate.baseline},
          {"ratio", gate.ratio.value},
          {"ci95", {gate.ratio.low, gate.ratio.high}},
          {"threshold", gate.threshold},
          {"pass", gate.passed}};
}

Json search_json(const ProblemResult& result, const RunPlan& plan) {
  Json outcomes = Json::object();
  for (const auto& [outcome, count] : result.outcomes) outcomes[std::string(name(outcome))] = count;
  Json search = {{"strategy", plan.strategy},
                 {"seed", plan.seed},
                 {"objective", plan.objective},
                 {"evaluations", result.candidates.size()},
                 {"outcomes", outcomes},
                 {"seconds", result.seconds},
                 {"valid_points", result.valid_points},
                 {"raw_points", result.raw_points},
                 {"gpu_waited_s", result.gpu_waited_s}};
  for (const KnownConfig& known : result.warm_starts)
    search["warm_starts"].push_back(to_json(known));
  return search;
}

Json problem_json(const ProblemResult& result, const RunPlan& plan) {
  Json object = Json::object();
  if (!result.problem.name.empty()) object["name"] = result.problem.name;
  object["problem"] = to_json(result.problem.problem);
  const FinalRecord* best = result.best();
  object["best"] = best == nullptr ? Json() : best_contestant(*best, plan);
  if (best != nullptr && result.standings.front().score)
    object["best"]["score"] = *result.standings.front().score;
  if (!result.score_note.empty()) object["score_note"] = result.score_note;
  object["finalists"] = Json::array();
  object["baselines"] = Json::array();
  for (std::size_t i = 0; i < result.finals.size(); ++i) {
    const FinalRecord& record = result.finals[i];
    const bool baseline = record.role == "baseline";
    object[baseline ? "baselines" : "finalists"].push_back(
        finalist_json(record, result.standings[i]));
  }
  object["gate"] = result.gate ? gate_json(*result.gate) : Json();
  object["search"] = search_json(result, plan);
  return object;
}

Json head_json(const SweepResult& result) {
  const Environment& environment = result.environment;
  Json head = {{"schema", kSchema},
               {"fatune", environment.fatune},
               {"command", result.plan.command},
               {"recorded", environment.recorded}};
  if (result.plan.skip_correctness) head["correctness"] = "skipped";
  head["device"] = {{"name", environment.device_name},
                    {"arch", name(environment.limits.arch)},
                    {"driver", environment.driver},
                    {"nvrtc", environment.nvrtc},
                    {"sm_count", environment.limits.sm_count}};
  return head;
}

bool has_finals(const ProblemResult& result) { return !result.finals.empty(); }

/// Of the gates' ratios; null when no problem has one.
Json geomean_ratio(const SweepResult& result) {
  double log_sum = 0;
  int ratios = 0;
  for (const ProblemResult& problem : result.problems) {
    if (!problem.gate) continue;
    log_sum += std::log(problem.gate->ratio.value);
    ++ratios;
  }
  return ratios == 0 ? Json() : Json(std::exp(log_sum / ratios));
}

Json choice_json(const SuiteChoice& choice) {
  Json json = {{"order", choice.order}, {"configs", Json::array()}};
  for (const SuiteConfig& each : choice.configs) {
    Json config = {{"kernel", each.kernel}, {"config", each.config}};
    config["speedup_over_default"] = each.speedup ? Json(*each.speedup) : Json();
    config["best_of"] = each.problems;
    if (!each.turned_down.empty()) config["turned_down"] = each.turned_down;
    json["configs"].push_back(std::move(config));
  }
  return json;
}

}  // namespace

Json best_json(const SweepResult& result) {
  Json object = head_json(result);
  if (result.plan.problems.size() == 1) {
    for (const ProblemResult& problem : result.problems)
      object.update(problem_json(problem, result.plan));
    return object;
  }
  object["problems"] = Json::array();
  for (const ProblemResult& problem : result.problems) {
    if (has_finals(problem)) object["problems"].push_back(problem_json(problem, result.plan));
  }
  object["geomean_ratio"] = geomean_ratio(result);
  object["seconds"] = result.seconds;
  if (result.choice) object["choice"] = choice_json(*result.choice);
  return object;
}

Status save_best(const SweepResult& result) {
  for (const ProblemResult& problem : result.problems) {
    if (has_finals(problem))
      return replace_file(result.folder / "best.json", dump_pretty(best_json(result)));
  }
  return {};
}

}  // namespace fatune
