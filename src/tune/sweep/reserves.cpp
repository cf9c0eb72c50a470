// reserves.cpp - candidates of the fastest kernel that differ from all of its finalists.
#include "tune/sweep/reserves.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "model/results/sweep_result.hpp"

namespace fatune {
namespace {

constexpr std::size_t kMostReserves = 8;  // chosen: as many as finalists

double time_of(const CandidateRecord& record, const std::string& objective) {
  return objective_timing(record, objective)->median_us;
}

/// Null when there is none.
const CandidateRecord* fastest_without(const std::string& parameter, const Json& value,
                                       const std::vector<const CandidateRecord*>& measured) {
  const auto differs = [&](const CandidateRecord* record) {
    return record->config.value(parameter, Json()) != value;
  };
  const auto found = std::ranges::find_if(measured, differs);
  return found == measured.end() ? nullptr : *found;
}

}  // namespace

Result<std::vector<Implementation>> choose_reserves(
    const FinalsRequest& request, const std::vector<Implementation>& contestants,
    const std::vector<CandidateRecord>& candidates) {
  std::vector<Implementation> reserves;
  if (contestants.empty() || request.only != nullptr || request.objective == kScoreObjective)
    return reserves;
  const KernelRef& kernel = contestants.front().candidate.kernel;
  std::vector<Json> finalists;
  for (const Implementation& each : contestants) {
    if (each.role == "finalist" && each.impl == contestants.front().impl)
      finalists.push_back(to_json(each.candidate.config));
  }
  std::vector<const CandidateRecord*> measured;
  for (const CandidateRecord& record : candidates) {
    const bool timed = objective_timing(record, request.objective).has_value();
    if (timed && record.outcome == Outcome::kMeasured && record.kernel == kernel->manifest.name)
      measured.push_back(&record);
  }
  const auto by_time = [&](const CandidateRecord* record) {
    return time_of(*record, request.objective);
  };
  std::ranges::stable_sort(measured, {}, by_time);
  std::vector<const CandidateRecord*> chosen;
  for (const auto& [parameter, value] : finalists.front().items()) {
    const bool alike = std::ranges::all_of(
        finalists, [&](const Json& config) { return config.at(parameter) == value; });
    const CandidateRecord* other = alike ? fastest_without(parameter, value, measured) : nullptr;
    if (other != nullptr && std::ranges::find(chosen, other) == chosen.end())
      chosen.push_back(other);
  }
  std::ranges::stable_sort(chosen, {}, by_time);
  chosen.resize(std::min(chosen.size(), kMostReserves));
  for (const CandidateRecord* record : chosen) {
    FATUNE_TRY(Config config,
               config_from_json(kernel->manifest, record->config, "candidate " + record->id));
    reserves.push_back(implementation_of({kernel, std::move(config), record->problem}, "finalist"));
  }
  return reserves;
}

}  // namespace fatune
