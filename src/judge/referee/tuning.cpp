// tuning.cpp: Plans the search of a submitted template and summarises the search's journal.
#include "judge/referee/tuning.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "search/datasets/recording.hpp"
#include "search/strategies/strategy.hpp"

namespace fatune {
namespace {

constexpr std::size_t kReasons = 5;  // listed reasons of failures; chosen

std::vector<std::string> reasons_of(const std::vector<CandidateRecord>& candidates) {
  std::vector<std::string> reasons;
  for (const CandidateRecord& each : candidates) {
    const bool told = each.reason.empty() || each.outcome == Outcome::kDuplicate ||
                      each.outcome == Outcome::kPruned ||
                      std::ranges::find(reasons, each.reason) != reasons.end();
    if (!told && reasons.size() < kReasons) reasons.push_back(each.reason);
  }
  return reasons;
}

}  // namespace

Result<RunPlan> plan_of(const TuneKernel& asked) {
  std::vector<std::string> known;
  for (const StrategyInfo& info : strategies()) known.emplace_back(info.name);
  if (std::ranges::find(known, asked.strategy) == known.end()) {
    return usage_error(
        fmt::format("strategy: '{}' is not one of {}", asked.strategy, join(known, ", ")));
  }
  RunPlan plan;
  plan.strategy = asked.strategy;
  plan.budget_evaluations =
      static_cast<std::uint64_t>(asked.evaluations.value_or(kUsualEvaluations));
  if (asked.seconds) plan.budget_seconds = static_cast<double>(*asked.seconds);
  plan.command = "fatune judge";
  return plan;
}

Result<TunedKernel> read_tuning(const ProblemResult& found, const std::filesystem::path& folder) {
  TunedKernel tuned;
  tuned.evaluations = found.candidates.size();
  tuned.outcomes = found.outcomes;
  tuned.valid_points = found.valid_points;
  tuned.raw_points = found.raw_points;
  tuned.reasons = reasons_of(found.candidates);
  FATUNE_TRY(const auto recordings, read_recordings(folder));
  const ParameterImportance importance = importance_of(recordings.front());
  if (importance.measured >= kFewestForImportance) tuned.importance = importance;
  return tuned;
}

void fields(TuneKernel& x, FieldList& f) {
  f("problem", x.submission.problem).required().filled().about("Its id, as list_problems has it");
  f("source", x.submission.source)
      .required()
      .filled()
      .about("CUDA C++ for NVRTC, without host code");
  f.packed("manifest", x.submission.manifest)
      .required()
      .object()
      .about("fatune.kernel/1, with the parameters, their values and constraints");
  f("evaluations", x.evaluations).range(1, 2000).about("At most so many configs [60]");
  f("seconds", x.seconds).range(1, 3600).about("At most so long; absent: no limit");
  f("strategy", x.strategy).about("As in `fatune sweep` [evo]");
  f("thought", x.submission.thought).omitted().about("Why it should work; kept for the history");
  f("parents", x.submission.parents).omitted().about("Ids of the judgements that it builds on");
  f.closed();
}

void fields(TunedKernel& x, FieldList& f) {
  f("run", x.run).required().about("The search; its journal is the resource fatune://RUN/journal");
  f("best", x.best).about("Its judgement; absent: no config passed every gate");
  f("evaluations", x.evaluations);
  f("outcomes", x.outcomes).about("So many configs of each");
  f("valid_points", x.valid_points).about("Of all combinations those that constraints leave");
  f("raw_points", x.raw_points);
  f("reasons", x.reasons).omitted().about("Of configs that failed, each once");
  f("importance", x.importance).about("What each parameter explains of the variance");
}

}  // namespace fatune
