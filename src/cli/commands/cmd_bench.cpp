// cmd_bench.cpp: Measures configs and implementations in interleaved rounds.
#include <algorithm>
#include <optional>
#include <span>

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/options/catalog.hpp"
#include "cli/options/problems.hpp"
#include "cli/options/session.hpp"
#include "core/fields.hpp"
#include "core/file.hpp"
#include "report/text/comparison_text.hpp"
#include "tune/sweep/best.hpp"
#include "tune/sweep/comparison.hpp"

namespace fatune::cli {
namespace {

struct BenchArgs {
  CommonArgs common;
  ChoiceArgs choice;
  std::string impls;
  std::string device = "auto";
  RoundsArgs rounds;
  std::string out, suite_out;
};

bool has_choice(const BenchArgs& args) {
  return !args.choice.config.empty() || !args.choice.kernel.empty();
}

OptionTable bench_table(BenchArgs& a) {
  OptionTable choice = choice_table(a.choice);
  choice.front().rows.push_back({"--impl", &a.impls, "IMPL,...",
                                 "Measure these implementations beside a config, or alone: cudnn, "
                                 "torch:flash, python:FILE:FUNCTION [naive]"});
  const OptionTable files = {
      {"Files",
       {{"--out", &a.out, "FILE", "Write every row and round (fatune.bench/1)", Repeat::kNo},
        {"--suite-out", &a.suite_out, "FILE",
         "Write one row a problem, with best and baselines (fatune.suite/1)", Repeat::kNo}}}};
  return tables(
      {choice, rounds_table(a.rounds), files, device_table(a.device), common_table(a.common)});
}

/// Rows of a problem: the candidate, its kernel's default, and the implementations of --impl or the
/// reference.
Result<std::vector<Implementation>> contestants_of(const Implementation* chosen,
                                                   const Problem& problem, const BenchArgs& args,
                                                   const Session& session,
                                                   const Settings& settings) {
  std::vector<Implementation> rows;
  std::vector<std::string> impls;
  if (!args.impls.empty()) {
    FATUNE_TRY(impls, parse_implementations("--impl", args.impls));
  }
  if (chosen != nullptr) {
    const Candidate& candidate = chosen->candidate;
    rows.push_back(*chosen);
    const Candidate standard{candidate.kernel, default_config(candidate.kernel->manifest), problem};
    if (!(standard.config == candidate.config))
      rows.push_back(implementation_of(standard, RowRole::kDefault));
    if (args.impls.empty() && candidate.kernel != session.reference)
      impls.push_back(session.reference->manifest.name);
  }
  FATUNE_TRY(auto others,
             baseline_implementations(impls, problem, session.catalog, outside_options(settings)));
  rows.insert(rows.end(), others.begin(), others.end());
  return rows;
}

Result<std::vector<BenchQuestion>> questions_of(const BenchArgs& args, const Session& session,
                                                const Settings& settings) {
  std::vector<BenchQuestion> questions;
  for (const Implementation& chosen : session.chosen) {
    const Problem& problem = chosen.candidate.problem;
    FATUNE_TRY(auto rows, contestants_of(&chosen, problem, args, session, settings));
    questions.push_back({chosen.problem(), std::move(rows)});
  }
  if (has_choice(args)) return questions;
  const OperationRef& operation = session.reference->manifest.operation;
  FATUNE_TRY(const auto problems, resolve_problems(args.choice.problem, operation));
  for (const NamedProblem& named : problems) {
    FATUNE_TRY(auto rows, contestants_of(nullptr, named.problem, args, session, settings));
    questions.push_back({named, std::move(rows)});
  }
  return questions;
}

Result<Session> open(const BenchArgs& args, const Settings& settings) {
  if (has_choice(args)) return open_session(args.choice, args.device, settings);
  if (args.impls.empty()) {
    return usage_error("choose what to measure: --config FILE, --kernel NAME or --impl LIST");
  }
  FATUNE_TRY(auto catalog, load_catalog(settings));
  FATUNE_TRY(const auto impls, parse_implementations("--impl", args.impls));
  const OperationRef operation = operation_of(impls, catalog);
  FATUNE_TRY(const auto problems, resolve_problems(args.choice.problem, operation));
  return open_session(std::move(catalog), operation, args.device, settings, problems);
}

/// Exit code 1 if a problem's candidate was not timed; without a candidate, if no implementation
/// was. Unavailable implementations give exit code 3. Problems that cannot be done do not count
/// beside others.
int exit_code(const BenchResult& result, const BenchArgs& args) {
  int code = kDone;
  std::size_t left_out = 0;
  for (const BenchProblem& problem : result.problems) {
    std::span<const FinalRecord> counting = problem.rows;
    if (has_choice(args)) counting = counting.first(std::min<std::size_t>(1, counting.size()));
    const bool impossible = std::ranges::all_of(
        counting, [](const FinalRecord& row) { return row.outcome == Outcome::kInfeasible; });
    if (impossible && ++left_out < result.problems.size()) continue;
    if (std::ranges::any_of(counting, &FinalRecord::is_timed)) continue;
    const bool unavailable = std::ranges::all_of(
        counting, [](const FinalRecord& row) { return row.outcome == Outcome::kUnavailable; });
    if (counting.empty() || !unavailable) return kAnswerIsNo;
    code = kEnvironment;
  }
  return code;
}

/// Compares the time in the config's file for this problem with the new time.
void add_confirmation(const BestFile& saved, const Session& session, const Environment& here,
                      BenchProblem& measured) {
  if (measured.rows.empty()) return;
  const FinalRecord& row = measured.rows.front();
  for (const BestProblem& winner : saved.problems) {
    if (winner.problem != row.problem || !same_config(*winner.best, row)) continue;
    for (const Implementation& chosen : session.chosen) {
      if (chosen.candidate.kernel->manifest.name != row.kernel) continue;
      measured.confirmation = confirm(saved, winner, row, here, *chosen.candidate.kernel);
      return;
    }
  }
}

Status write_files(const BenchArgs& args, const BenchResult& result) {
  if (!args.out.empty()) FATUNE_TRY_STATUS(replace_file(args.out, dump_pretty(to_json(result))));
  if (!args.suite_out.empty())
    FATUNE_TRY_STATUS(replace_file(args.suite_out, dump_pretty(to_json(suite_table(result)))));
  return {};
}

Result<int> bench(const BenchArgs& args, const Settings& settings) {
  FATUNE_TRY(FinalPlan plan, resolve_rounds(args.rounds));
  plan.edge_problems = false;
  FATUNE_TRY_STATUS(check_files({args.out, args.suite_out}));
  FATUNE_TRY(const Session session, open(args, settings));
  FATUNE_TRY(const auto questions, questions_of(args, session, settings));
  if (session.chosen.size() == 1)
    FATUNE_TRY_STATUS(check_supported(session.chosen.front().candidate, *session.evaluator));
  BenchResult result;
  result.command = "fatune bench" + repeat_options(bench_table, args);
  result.date = local_time();
  result.suite = args.choice.problem.suite;
  std::optional<BestFile> saved;
  if (!args.choice.config.empty()) {
    FATUNE_TRY(saved, load_best_file(args.choice.config));
  }
  FATUNE_TRY_STATUS(run_bench(questions, plan, *session.evaluator, result, [&] {
    if (saved) add_confirmation(*saved, session, result.environment, result.problems.back());
    return write_files(args, result);
  }));
  print(settings.json ? dump_pretty(to_json(result))
                      : session.with_notice(bench_text(result, settings.paint)));
  return exit_code(result, args);
}

}  // namespace

Runner setup_bench(CLI::App& command) {
  return make_runner(command, bench_table,
                     "fatune bench --config results/h200/mission/best.json --impl cudnn", bench);
}

}  // namespace fatune::cli
