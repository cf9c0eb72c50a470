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

/// The file's configs, for the problems asked for or its own.
Result<std::vector<Implementation>> from_file(const std::string& file, const ProblemArgs& problem,
                                              const std::vector<KernelRef>& catalog) {
  ChoiceArgs choice;
  choice.config = file;
  choice.problem = problem;
  return resolve_choice(choice, catalog);
}

Result<Implementation> from_name(const std::string& impl, const Problem& problem,
                                 const std::vector<KernelRef>& catalog, const Settings& settings) {
  FATUNE_TRY(auto rows,
             baseline_implementations({impl}, problem, catalog, outside_options(settings)));
  return std::move(rows.front());
}

/// A config file as a baseline: its config for this very problem, or its only one.
Result<Implementation> config_baseline(const std::string& file, const NamedProblem& problem,
                                       const std::vector<KernelRef>& catalog) {
  FATUNE_TRY(const BestFile saved, load_best_file(file));
  FATUNE_TRY(const SavedConfig entry, config_for(configs_of(saved), problem.problem, file));
  FATUNE_TRY(Implementation chosen, chosen_of(entry, problem, file, catalog));
  chosen.role = "baseline";
  return chosen;
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

Result<std::vector<Implementation>> gate_candidates(const GateSides& sides,
                                                    const std::vector<KernelRef>& catalog,
                                                    const Settings& settings) {
  if (is_file(sides.candidate)) return from_file(sides.candidate, sides.problem, catalog);
  std::vector<Implementation> candidates;
  FATUNE_TRY(const auto problems,
             resolve_problems(sides.problem, operation_of({sides.candidate}, catalog)));
  for (const NamedProblem& problem : problems) {
    FATUNE_TRY(Implementation candidate,
               from_name(sides.candidate, problem.problem, catalog, settings));
    if (candidate.candidate.kernel) {
      candidate = implementation_of(std::move(candidate.candidate), "finalist");
    }
    candidate.role = "finalist";
    candidate.problem_name = problem.name;
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

Result<std::vector<GateQuestion>> gate_questions(const GateSides& sides,
                                                 const std::vector<Implementation>& candidates,
                                                 const Session& session, const Settings& settings) {
  FATUNE_TRY(const Baselines baselines, sort_baselines(sides.baselines));
  std::vector<GateQuestion> questions;
  for (const Implementation& candidate : candidates) {
    const Problem& problem = candidate.candidate.problem;
    GateQuestion question{candidate.problem(), candidate, {}, {}};
    for (const std::string& word : baselines.measured) {
      FATUNE_TRY(Implementation baseline,
                 is_file(word) ? config_baseline(word, question.problem, session.catalog)
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
