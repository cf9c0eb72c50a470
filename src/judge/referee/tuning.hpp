// tuning.hpp: Declares the search for the best config of a submitted template.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "judge/referee/judgement.hpp"
#include "judge/referee/problem_book.hpp"
#include "search/strategies/importance.hpp"

namespace fatune {

inline constexpr std::int64_t kUsualEvaluations = 60;
struct SearchBudget {
  std::optional<std::int64_t> evaluations;  ///< kUsualEvaluations if empty
  std::optional<std::int64_t> seconds;      ///< no limit if empty
  std::string strategy = "evo";
};
struct TuneKernel : SearchBudget {
  Submission submission;  ///< its config is searched
};
/// A search among fatune's kernels for a problem: of the judge, or a shape.
struct SweepProblem : SearchBudget {
  std::optional<std::string> problem;  ///< id
  std::optional<std::string> shape;
  std::vector<std::string> kernels;  ///< names; empty for those that are tuned by default
  Dtype dtype = Dtype::kF16;
  Mask mask = Mask::kNone;
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
void fields(SweepProblem& x, FieldList& f);
void fields(TunedKernel& x, FieldList& f);

struct AskExport {
  std::string run;                ///< "runs/3"
  std::string format = "header";  ///< of `fatune export`
  bool unverified = false;        ///< also machine code that no gate has checked
};
struct ExportedFile {
  std::string path;
  std::string text;  ///< empty for machine code
};
struct ExportedWinner {
  std::vector<ExportedFile> files;
};
void fields(AskExport& x, FieldList& f);
void fields(ExportedFile& x, FieldList& f);
void fields(ExportedWinner& x, FieldList& f);

/// Returns the strategy and the budget.
Result<RunPlan> plan_of(const SearchBudget& asked);
/// Returns the problem of a shape, booked under an id of its own.
Result<BookedProblem> problem_of_shape(const SweepProblem& asked);
/// Reads everything but the best from the search's journal in `folder`.
Result<TunedKernel> read_tuning(const ProblemResult& found, const std::filesystem::path& folder);

}  // namespace fatune
