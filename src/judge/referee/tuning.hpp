// tuning.hpp: Declares the search for the best config of a submitted template.
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
  Submission submission;                    ///< its config is searched
  std::optional<std::int64_t> evaluations;  ///< kUsualEvaluations if empty
  std::optional<std::int64_t> seconds;      ///< no limit if empty
  std::string strategy = "evo";
};
struct TunedKernel {
  std::string run;                   ///< "runs/3"
  std::optional<JudgedKernel> best;  ///< empty if no config passed every gate
  std::uint64_t evaluations = 0;
  std::map<Outcome, std::uint64_t> outcomes;
  std::uint64_t valid_points = 0, raw_points = 0;
  std::vector<std::string> reasons;               ///< distinct reasons of failed configs
  std::optional<ParameterImportance> importance;  ///< empty if too few configs were measured
};
void fields(TuneKernel& x, FieldList& f);
void fields(TunedKernel& x, FieldList& f);

/// Returns the strategy and the budget.
Result<RunPlan> plan_of(const TuneKernel& asked);
/// Reads everything but the best from the search's journal in `folder`.
Result<TunedKernel> read_tuning(const ProblemResult& found, const std::filesystem::path& folder);

}  // namespace fatune
