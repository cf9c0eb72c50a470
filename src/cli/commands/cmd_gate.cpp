// cmd_gate.cpp: Measures a candidate beside its baselines and decides by interval: exit 0 or 1.
#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/options/catalog.hpp"
#include "cli/options/problems.hpp"
#include "cli/options/session.hpp"
#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "report/text/comparison_text.hpp"
#include "tune/sweep/comparison.hpp"
#include "tune/sweep/saved_result.hpp"

namespace fatune::cli {
namespace {

struct GateArgs {
  CommonArgs common;
  std::string candidate;  ///< config file, kernel or implementation
  /// comma-separated: implementations, kernels, config files, saved results
  std::string baselines;
  ProblemArgs problem;
  std::string device = "auto";
  std::string threshold = "0.95";
  std::string objective = "in_layer";
  RoundsArgs rounds;
  std::string format = "text";
  std::string out;
};

Result<GateRules> rules_of(const GateArgs& args) {
  GateRules rules;
  const auto threshold = parse_number(args.threshold);
  if (!threshold || !(*threshold > 0) || *threshold > 10) {
    return usage_error(
        "--threshold: '" + args.threshold +
        "' is not a ratio above 0, at most 10; 0.95 asks for 5 % less time, 1.05 forbids 5 % "
        "more");
  }
  rules.threshold = *threshold;
  auto time = parse_time(args.objective);
  if (!time) return usage_error("--objective: " + time.error().message);
  rules.time = *time;
  return rules;
}

OptionTable gate_table(GateArgs& a) {
  const OptionTable sides = {
      {"Compared",
       {required(
            {"--candidate", &a.candidate, "WHAT",
             "Compare this candidate: a best.json or config file, a kernel, or an implementation",
             Repeat::kAlways}),
        required({"--baseline", &a.baselines, "WHAT,...",
                  "Beat each of these baselines: implementations, kernels, python:FILE:FUNCTION, "
                  "files of `bench --out`",
                  Repeat::kAlways})}}};
  const OptionTable rules = {
      {"Decision",
       {{"--threshold", &a.threshold, "R",
         "Pass when the whole interval of candidate/baseline is below R"},
        {"--objective", &a.objective, "in_layer|plain|hot|cold",
         "Compare this time: in_layer, between the two GEMMs of a layer, or that of plain, hot or "
         "cold launches"},
        {"--format", &a.format, "text|md", "Print text, or md for a pull request's comment",
         Repeat::kNo},
        {"--out", &a.out, "FILE", "Write the decision with all numbers (fatune.gate/1)",
         Repeat::kNo}}}};
  return tables({sides, problem_table(a.problem), rules, rounds_table(a.rounds),
                 device_table(a.device), common_table(a.common)});
}

Status check_format(const std::string& format) {
  if (format == "text" || format == "md") return {};
  return usage_error("--format: '" + format + "' is neither text nor md");
}

/// Whether the word names a file or a run folder, also a missing one.
bool is_file(const std::string& word) {
  if (const auto outside = parse_outside_name(word); !outside || *outside) return false;
  std::error_code ignored;
  return word.find('/') != std::string::npos || word.ends_with(".json") ||
         std::filesystem::is_regular_file(word, ignored) ||
         std::filesystem::exists(std::filesystem::path(word) / "best.json", ignored);
}

Result<Implementation> from_name(const std::string& impl, const Problem& problem,
                                 const Catalog& catalog, const Settings& settings) {
  FATUNE_TRY(auto rows,
             baseline_implementations({impl}, problem, catalog, outside_options(settings)));
  return std::move(rows.front());
}

/// Baseline from a config file: its config for this problem, or its only config.
Result<Implementation> config_baseline(const std::string& file, const NamedProblem& problem,
                                       const Catalog& catalog) {
  FATUNE_TRY(const BestFile best, load_best_file(file));
  const std::vector<SavedConfig> saved = configs_of(best);
  FATUNE_TRY(const std::size_t position, position_for(saved, problem.problem, file));
  FATUNE_TRY(Implementation chosen, chosen_of(saved[position], problem, file, catalog));
  chosen.role = RowRole::kBaseline;
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
    std::filesystem::path file;
    if (is_file(word)) {
      FATUNE_TRY(file, find_best_file(word));
    }
    if (!file.empty() && holds_measurements(file)) {
      FATUNE_TRY(SavedResult saved, load_saved_result(file));
      baselines.saved.push_back(std::move(saved));
    } else {
      baselines.measured.push_back(word);
    }
  }
  if (!words.empty()) return baselines;
  return usage_error("--baseline: name at least one, such as --baseline torch:flash,torch:math");
}

/// Candidate of each problem, before the device is opened. A file's own problems apply without
/// --shape and --suite.
Result<std::vector<Implementation>> gate_candidates(const GateArgs& args, const Catalog& catalog,
                                                    const Settings& settings) {
  if (is_file(args.candidate))
    return resolve_choice({.config = args.candidate, .kernel = "", .problem = args.problem},
                          catalog);
  const OperationRef operation = operation_of({args.candidate}, catalog);
  FATUNE_TRY_STATUS(check_implementations({args.candidate}, catalog, operation->name));
  FATUNE_TRY(const auto problems, resolve_problems(args.problem, operation));
  std::vector<Implementation> candidates;
  for (const NamedProblem& problem : problems) {
    FATUNE_TRY(Implementation candidate,
               from_name(args.candidate, problem.problem, catalog, settings));
    if (candidate.candidate.kernel) {
      candidate = implementation_of(std::move(candidate.candidate));
    }
    candidate.role = RowRole::kFinalist;
    candidate.problem_name = problem.name;
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

/// Baselines for the same rounds, and rows of saved results, which must come from the same device
/// and problem.
Result<std::vector<GateQuestion>> gate_questions(const GateArgs& args,
                                                 const std::vector<Implementation>& candidates,
                                                 const Session& session, const Settings& settings) {
  FATUNE_TRY(const Baselines baselines, sort_baselines(args.baselines));
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

Result<int> gate(const GateArgs& args, const Settings& settings) {
  FATUNE_TRY_STATUS(check_format(args.format));
  FATUNE_TRY(GateRules rules, rules_of(args));
  FATUNE_TRY(const FinalPlan plan, resolve_rounds(args.rounds));
  rules.seed = plan.seed;
  FATUNE_TRY_STATUS(check_files({args.out}));
  FATUNE_TRY(auto catalog, load_catalog(settings));
  FATUNE_TRY(const auto candidates, gate_candidates(args, catalog, settings));
  const KernelRef& kernel = candidates.front().candidate.kernel;
  const OperationRef operation = kernel ? kernel->manifest.operation : attention();
  std::vector<NamedProblem> problems;
  for (const auto& each : candidates) problems.push_back({"", each.candidate.problem});
  FATUNE_TRY(const Session session,
             open_session(std::move(catalog), operation, args.device, settings, problems));
  FATUNE_TRY(const auto questions, gate_questions(args, candidates, session, settings));
  FATUNE_TRY(GateResult result, run_gate(questions, rules, plan, *session.evaluator));
  result.command = "fatune gate" + repeat_options(gate_table, args);
  if (!args.out.empty()) FATUNE_TRY_STATUS(replace_file(args.out, dump_pretty(to_json(result))));
  print(settings.json         ? dump_pretty(to_json(result))
        : args.format == "md" ? gate_markdown(result)
                              : session.with_notice(gate_report(result, settings.paint)));
  if (result.passed) return kDone;
  if (has_answer(result)) return kAnswerIsNo;
  log::error("nothing could be compared; the reasons are above");
  return kEnvironment;
}

}  // namespace

Runner setup_gate(CLI::App& command) {
  return make_runner(
      command, gate_table,
      "fatune gate --candidate results/h200/mission/best.json --baseline torch:flash", gate);
}

}  // namespace fatune::cli
