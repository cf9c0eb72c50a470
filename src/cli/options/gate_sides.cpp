// gate_sides.cpp - tells files from names, and measured baselines from saved ones.
#include "cli/options/gate_sides.hpp"

#include <filesystem>

#include "cli/options/catalog.hpp"
#include "cli/options/problems.hpp"
#include "cli/options/settings.hpp"
#include "core/text.hpp"
#include "tune/sweep/saved_result.hpp"

namespace fatune::cli {
namespace {

bool is_file(const std::string& word) {
  std::error_code ignored;
  return word.ends_with(".json") || std::filesystem::is_regular_file(word, ignored);
}

std::string fatune_name(const KernelRef& kernel) { return "fatune:" + kernel->manifest.name; }

/// The file's configs, for the problems asked for or its own.
Result<std::vector<ChosenCandidate>> from_file(const std::string& file, const ProblemArgs& problem,
                                               const std::vector<KernelRef>& catalog) {
  ChoiceArgs choice;
  choice.config = file;
  choice.problem = problem;
  return resolve_choice(choice, catalog);
}

Result<Contestant> from_name(const std::string& impl, const Problem& problem,
                             const std::vector<KernelRef>& catalog, const Settings& settings) {
  FATUNE_TRY(auto rows, baseline_contestants({impl}, problem, catalog, outside_options(settings)));
  return std::move(rows.front());
}

/// A config file as a baseline: its config for this very problem, or its only one.
Result<Contestant> config_baseline(const std::string& file, const NamedProblem& problem,
                                   const std::vector<KernelRef>& catalog) {
  FATUNE_TRY(const auto saved, load_best(file));
  FATUNE_TRY(const ChosenConfig entry, config_for(saved, problem.problem, file));
  FATUNE_TRY(ChosenCandidate chosen, chosen_of(entry, problem, file, catalog));
  const std::string impl = fatune_name(chosen.candidate.kernel);
  return Contestant{impl, "baseline", std::move(chosen.candidate), {}};
}

struct Baselines {
  std::vector<std::string> measured;  ///< names and config files
  std::vector<SavedResult> saved;
};

Result<Baselines> sort_baselines(const std::string& list) {
  Baselines baselines;
  FATUNE_TRY(const auto words, parse_implementations("--baseline", list));
  for (const std::string& word : words) {
    if (is_file(word) && holds_measurements(word)) {
      FATUNE_TRY(SavedResult saved, load_saved_result(word));
      baselines.saved.push_back(std::move(saved));
    } else {
      baselines.measured.push_back(word);
    }
  }
  if (!words.empty()) return baselines;
  return usage_error("--baseline: name at least one, say --baseline torch:flash,torch:math");
}

}  // namespace

Result<std::vector<GateCandidate>> gate_candidates(const GateSides& sides,
                                                   const std::vector<KernelRef>& catalog,
                                                   const Settings& settings) {
  std::vector<GateCandidate> candidates;
  if (is_file(sides.candidate)) {
    FATUNE_TRY(auto chosen, from_file(sides.candidate, sides.problem, catalog));
    for (ChosenCandidate& each : chosen) {
      const NamedProblem problem{each.name, each.candidate.problem};
      const std::string impl = fatune_name(each.candidate.kernel);
      candidates.push_back({problem, {impl, "finalist", std::move(each.candidate), {}}});
    }
    return candidates;
  }
  FATUNE_TRY(const auto problems,
             resolve_problems(sides.problem, operation_of({sides.candidate}, catalog)));
  for (const NamedProblem& problem : problems) {
    FATUNE_TRY(Contestant contestant,
               from_name(sides.candidate, problem.problem, catalog, settings));
    contestant.role = "finalist";
    if (contestant.candidate.kernel) contestant.impl = fatune_name(contestant.candidate.kernel);
    candidates.push_back({problem, std::move(contestant)});
  }
  return candidates;
}

Result<std::vector<GateQuestion>> gate_questions(const GateSides& sides,
                                                 const std::vector<GateCandidate>& candidates,
                                                 const Session& session, const Settings& settings) {
  FATUNE_TRY(const Baselines baselines, sort_baselines(sides.baselines));
  std::vector<GateQuestion> questions;
  for (const GateCandidate& candidate : candidates) {
    const Problem& problem = candidate.problem.problem;
    GateQuestion question{candidate.problem, candidate.contestant, {}, {}};
    for (const std::string& word : baselines.measured) {
      FATUNE_TRY(Contestant baseline,
                 is_file(word) ? config_baseline(word, candidate.problem, session.catalog)
                               : from_name(word, problem, session.catalog, settings));
      question.baselines.push_back(std::move(baseline));
    }
    for (const SavedResult& saved : baselines.saved) {
      FATUNE_TRY(auto rows, saved_rows(saved, problem, session.evaluator->environment()));
      for (FinalRecord& row : rows) question.saved.push_back({std::move(row), saved.file});
    }
    questions.push_back(std::move(question));
  }
  return questions;
}

}  // namespace fatune::cli
