// finals.cpp - picks the fastest, the default and the baseline.
#include "tune/sweep/finals.hpp"

#include <algorithm>
#include <set>

#include "model/results/sweep_result.hpp"

namespace fatune {
namespace {

/// Its name as an implementation; that of attention is "naive" whatever the manifest is called.
std::string reference_impl(const Manifest& manifest) {
  return manifest.operation->declared() != nullptr ? manifest.name : "naive";
}

/// With a list of entrants, an entrant that is a duplicate of another's machine code competes, too.
bool may_compete(const FinalsRequest& request, const CandidateRecord& record) {
  if (request.only == nullptr) return record.outcome == Outcome::kMeasured;
  return (record.outcome == Outcome::kMeasured || record.outcome == Outcome::kDuplicate) &&
         std::any_of(request.only->begin(), request.only->end(),
                     [&](const SavedConfig& entrant) { return same_config(entrant, record); });
}

std::vector<const CandidateRecord*> fastest_first(const FinalsRequest& request,
                                                  const std::vector<CandidateRecord>& candidates) {
  std::vector<const CandidateRecord*> ranked;
  for (const CandidateRecord& record : candidates) {
    const bool timed = objective_timing(record, request.objective).has_value();
    if (may_compete(request, record) && timed) ranked.push_back(&record);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](const CandidateRecord* a, const CandidateRecord* b) {
                     return objective_timing(*a, request.objective)->median_us <
                            objective_timing(*b, request.objective)->median_us;
                   });
  return ranked;
}

Result<Implementation> finalist_of(const CandidateRecord& record, const KernelRef& kernel) {
  FATUNE_TRY(Config config,
             config_from_json(kernel->manifest, record.config, "candidate " + record.id));
  return implementation_of({kernel, std::move(config), record.problem}, "finalist");
}

/// Whether the default config ran on the device; a config that is wrong or does not compile is no
/// contestant.
bool ran(const std::vector<CandidateRecord>& candidates, const std::string& key) {
  return std::any_of(candidates.begin(), candidates.end(), [&](const CandidateRecord& record) {
    const bool timed = record.outcome == Outcome::kMeasured || record.outcome == Outcome::kPruned;
    return record.key == key && timed && record.hot.has_value();
  });
}

}  // namespace

Result<std::vector<Implementation>> choose_contestants(
    const FinalsRequest& request, const std::vector<CandidateRecord>& candidates) {
  const auto ranked = fastest_first(request, candidates);
  std::vector<Implementation> chosen;
  std::vector<std::string> keys;
  std::set<std::string> kernels;
  for (const CandidateRecord* record : ranked) {
    // Beyond the fastest, the best of each kernel: a table of kernels then comes from one final
    // phase.
    if (chosen.size() >= request.finalists && kernels.contains(record->kernel)) continue;
    const KernelRef kernel = kernel_named(request.kernels, record->kernel);
    if (!kernel) continue;
    FATUNE_TRY(Implementation finalist, finalist_of(*record, kernel));
    chosen.push_back(std::move(finalist));
    keys.push_back(record->key);
    kernels.insert(record->kernel);
  }
  if (chosen.empty()) return chosen;

  const KernelRef& winner = chosen.front().candidate.kernel;
  Candidate usual{winner, default_config(winner->manifest), request.problem};
  const std::string usual_key = candidate_key(usual);
  const bool among_them = std::find(keys.begin(), keys.end(), usual_key) != keys.end();
  if (!among_them && ran(candidates, usual_key)) {
    chosen.push_back(implementation_of(std::move(usual), "default"));
  }
  if (request.reference) {
    const Manifest& manifest = request.reference->manifest;
    FATUNE_TRY(const std::string reason,
               unsupported_reason(manifest, request.problem, request.limits));
    if (reason.empty()) {
      chosen.push_back({reference_impl(manifest),
                        "baseline",
                        {request.reference, default_config(manifest), request.problem}});
    }
  }
  chosen.insert(chosen.end(), request.baselines.begin(), request.baselines.end());
  return chosen;
}

bool covers(const std::vector<FinalRecord>& finals,
            const std::vector<Implementation>& contestants) {
  return std::all_of(contestants.begin(), contestants.end(), [&](const Implementation& contestant) {
    return std::any_of(finals.begin(), finals.end(), [&](const FinalRecord& record) {
      return record.impl == contestant.impl && record.role == contestant.role &&
             record.config == to_json(contestant.candidate.config);
    });
  });
}

}  // namespace fatune
