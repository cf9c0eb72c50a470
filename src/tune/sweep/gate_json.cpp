// gate_json.cpp - a gate's result to fatune.gate/1.
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "tune/sweep/gate.hpp"
#include "tune/sweep/standing.hpp"

namespace fatune {
namespace {

/// Who it is and how long it takes.
Json side_json(const FinalRecord& record, const std::string& objective) {
  Json side = {{"impl", record.impl}};
  if (!record.kernel.empty()) side["kernel"] = record.kernel;
  if (!record.config.empty()) side["config"] = record.config;
  if (!record.id.empty()) side["id"] = record.id;
  if (record.external) side["external"] = true;
  if (!record.detail.empty()) side["detail"] = record.detail;
  side["outcome"] = name(record.outcome);
  if (!record.reason.empty()) side["reason"] = record.reason;
  if (const auto& timing = objective_timing(record, objective)) side["time"] = to_json(*timing);
  side["rounds"] = rounds_of(record, objective).size();
  if (record.verification) side["verify"] = to_json(*record.verification);
  if (record.conditions) side["conditions"] = to_json(*record.conditions);
  return side;
}

Json row_json(const GateRow& row, const std::string& objective) {
  Json json = {{"baseline", side_json(row.baseline, objective)}};
  if (!row.source.empty()) json["saved_in"] = row.source;
  if (row.ratio) {
    json["ratio"] = row.ratio->value;
    json["ci95"] = {row.ratio->low, row.ratio->high};
    json["paired"] = row.paired;
    json["comparison"] = row.comparison;
    json["verdict"] = row.verdict;
  } else {
    json["reason"] = row.reason;
  }
  json["pass"] = row.passed;
  return json;
}

Json problem_json(const GateProblem& problem, const std::string& objective) {
  Json json = Json::object();
  if (!problem.problem.name.empty()) json["name"] = problem.problem.name;
  json["problem"] = to_json(problem.problem.problem);
  if (problem.reason.empty()) {
    json["candidate"] = side_json(problem.candidate, objective);
  } else {
    json["reason"] = problem.reason;
  }
  json["baselines"] = Json::array();
  for (const GateRow& row : problem.rows) json["baselines"].push_back(row_json(row, objective));
  json["pass"] = problem.passed;
  return json;
}

}  // namespace

Json gate_json(const GateResult& result) {
  const Environment& environment = result.environment;
  Json json = {{"schema", "fatune.gate/1"},
               {"fatune", environment.fatune},
               {"command", result.command},
               {"recorded", environment.recorded},
               {"device",
                {{"name", environment.device_name},
                 {"arch", name(environment.limits.arch)},
                 {"driver", environment.driver},
                 {"nvrtc", environment.nvrtc}}},
               {"objective", result.objective},
               {"threshold", result.threshold},
               {"rounds", result.rounds},
               {"seed", result.seed}};
  json["problems"] = Json::array();
  for (const GateProblem& problem : result.problems)
    json["problems"].push_back(problem_json(problem, result.objective));
  json["means"] = Json::array();
  for (const GateMean& mean : result.means) {
    json["means"].push_back(
        {{"baseline", mean.baseline}, {"ratio", mean.ratio}, {"problems", mean.problems}});
  }
  json["pass"] = result.passed;
  return json;
}

}  // namespace fatune
