// tuning.cpp: Plans the search of a submitted template and summarises the search's journal.
#include "judge/referee/tuning.hpp"

#include <algorithm>

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

Result<BookedProblem> problem_of_shape(const SweepProblem& asked) {
  FATUNE_TRY(Attention problem, parse_shape(asked.shape.value_or(""), "arguments: field 'shape'"));
  problem.dtype = asked.dtype;
  problem.out_dtype = default_out_dtype(asked.dtype);
  problem.mask = asked.mask;
  FATUNE_TRY_STATUS(validate(problem));
  return book("", {{"", problem}}).front();
}

Result<RunPlan> plan_of(const SearchBudget& asked) {
  std::vector<std::string> known;
  for (const StrategyInfo& info : strategies()) known.emplace_back(info.name);
  if (std::ranges::find(known, asked.strategy) == known.end()) {
    return usage_error(
        fmt::format("strategy: '{}' is not one of {}", excerpt(asked.strategy), join(known, ", ")));
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
  if (recordings.size() != 1) return tuned;  // several kernels have no parameters in common
  const ParameterImportance importance = importance_of(recordings.front());
  if (importance.measured >= kFewestForImportance) tuned.importance = importance;
  return tuned;
}

static void budget_fields(SearchBudget& x, FieldList& f) {
  f("evaluations", x.evaluations).range(1, 2000).about("At most so many configs [60]");
  f("seconds", x.seconds).range(1, 3600).about("At most so long; absent: no limit");
  f("strategy", x.strategy).about("As in `fatune sweep` [evo]");
  f.by_hand();
}

void fields(TuneKernel& x, FieldList& f) {
  submission_fields(x.submission, f);
  budget_fields(x, f);
}

void fields(SweepProblem& x, FieldList& f) {
  f("problem", x.problem).about("An id of list_problems; or 'shape'");
  f("shape", x.shape).about("BATCH,HEADS,SEQ,HEAD_DIM such as 4,8,512,64; or 'problem'");
  f("kernels", x.kernels).about("Names such as fa_mma; absent: those that are tuned by default");
  f("dtype", x.dtype).about("With 'shape' [f16]");
  f("mask", x.mask).about("With 'shape' [none]");
  budget_fields(x, f);
  f.rule("", [&x] {
    const bool one = x.problem.has_value() != x.shape.has_value();
    return std::string(one ? "" : "one of 'problem' and 'shape' says what is computed");
  });
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

void fields(AskExport& x, FieldList& f) {
  f("run", x.run).required().filled().about("As sweep_problem or tune_kernel named it");
  f("format", x.format).about("header, source, cubin, torch, json or wisdom [header]");
  f("unverified", x.unverified).about("Also code that no gate has checked; every file says so");
  f.by_hand();
}

void fields(ExportedFile& x, FieldList& f) {
  f.record("exported_file");
  f("path", x.path).required().about("Where it lies while the judge runs, or in its --out");
  f("text", x.text).omitted().about("Absent: machine code");
}

void fields(ExportedWinner& x, FieldList& f) { f("files", x.files).required(); }

}  // namespace fatune
