// tuning.hpp - a template with parameters to the config that a search found for it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "judge/referee/judgement.hpp"
#include "search/strategies/importance.hpp"

namespace fatune {

inline constexpr std::int64_t kUsualEvaluations = 60;
struct TuneKernel {
  std::string problem, source, manifest;
  std::optional<std::int64_t> evaluations;  ///< none: kUsualEvaluations
  std::optional<std::int64_t> seconds;      ///< none: no limit
  std::string strategy = "evo";
  std::string thought;
  std::vector<std::string> parents;
};
struct TunedKernel {
  std::string run;                   ///< "runs/3"
  std::optional<JudgedKernel> best;  ///< empty: no config passed every gate
  std::uint64_t evaluations = 0;
  std::map<Outcome, std::uint64_t> outcomes;
  std::uint64_t valid_points = 0, raw_points = 0;
  std::vector<std::string> reasons;               ///< of configs that failed, each once
  std::optional<ParameterImportance> importance;  ///< empty: too few were measured
};
void fields(TuneKernel& x, FieldList& f);
void fields(TunedKernel& x, FieldList& f);

Submission submission_of(const TuneKernel& asked);
/// Strategy and budget.
Result<RunPlan> plan_of(const TuneKernel& asked);
/// What the search's journal in `folder` says, but for the best.
Result<TunedKernel> read_tuning(const ProblemResult& found, const std::filesystem::path& folder);

}  // namespace fatune
