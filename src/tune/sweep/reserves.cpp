// reserves.cpp: Finds the fastest candidates that differ from all finalists of their kernel.
#include <algorithm>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "tune/sweep/finals.hpp"

namespace fatune {
namespace {

constexpr std::size_t kMostReserves = 8;  // chosen: as many as finalists

using Ranked = std::vector<const CandidateRecord*>;

/// Returns the configs of the fastest kernel's finalists.
std::vector<Json> finalists_of(const std::vector<Implementation>& contestants) {
  std::vector<Json> configs;
  for (const Implementation& each : contestants) {
    if (each.role == RowRole::kFinalist && each.impl == contestants.front().impl)
      configs.push_back(to_json(each.candidate.config));
  }
  return configs;
}

/// Returns the fastest candidate with another value, for each parameter on which the finalists
/// agree.
std::set<const CandidateRecord*> diverse_configs(const std::vector<Json>& finalists,
                                                 const Ranked& ranked) {
  std::set<const CandidateRecord*> chosen;
  for (const auto& shared : finalists.front().items()) {
    const auto differs = [&](const Json& config) {
      return config.value(shared.key(), Json()) != shared.value();
    };
    if (std::ranges::any_of(finalists, differs)) continue;
    const auto other = std::ranges::find_if(
        ranked, [&](const CandidateRecord* record) { return differs(record->config); });
    if (other != ranked.end()) chosen.insert(*other);
  }
  return chosen;
}

}  // namespace

Result<std::vector<Implementation>> choose_reserves(
    const FinalsRequest& request, const std::vector<Implementation>& contestants,
    const std::vector<CandidateRecord>& candidates) {
  std::vector<Implementation> reserves;
  if (contestants.empty()) return reserves;
  const KernelRef& kernel = contestants.front().candidate.kernel;
  Ranked ranked = fastest_first(request, candidates);
  std::erase_if(ranked, [&](const CandidateRecord* record) {
    return record->kernel != kernel->manifest.name;
  });
  const auto chosen = diverse_configs(finalists_of(contestants), ranked);
  for (const CandidateRecord* record : ranked) {
    if (!chosen.contains(record) || reserves.size() == kMostReserves) continue;
    FATUNE_TRY(Implementation reserve, finalist_of(*record, kernel));
    reserves.push_back(std::move(reserve));
  }
  return reserves;
}

}  // namespace fatune
