// cmd_bench.cpp - measures configs against their kernel's default and the naive reference in
// interleaved rounds.
#include "cli/cmd_bench.hpp"

#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/session.hpp"
#include "cli/sweep_plan.hpp"
#include "problem/work.hpp"
#include "report/table.hpp"

namespace fatune::cli {
namespace {

struct BenchArgs {
  CommonArgs common;
  ChoiceArgs choice;
  std::string device = "auto";
  std::string rounds = "40";
  std::string seed = "42";
};

struct Measured {
  std::string problem_name;
  std::vector<FinalRecord> rows;
};

std::vector<Contestant> contestants_of(const Candidate& candidate, const KernelRef& reference) {
  const Manifest& manifest = candidate.kernel->manifest;
  std::vector<Contestant> rows = {{"fatune:" + manifest.name, "finalist", candidate}};
  const Candidate standard{candidate.kernel, default_config(manifest), candidate.problem};
  if (!(standard.config == candidate.config))
    rows.push_back({"fatune:" + manifest.name, "default", standard});
  if (candidate.kernel != reference) {
    const Config plain = default_config(reference->manifest);
    rows.push_back({reference->manifest.name, "baseline", {reference, plain, candidate.problem}});
  }
  return rows;
}

Result<std::vector<Measured>> measure(const Session& session, const FinalPlan& plan) {
  std::vector<Measured> results;
  for (const ChosenCandidate& entry : session.chosen) {
    FATUNE_TRY_STATUS(begin_candidate(entry.candidate, *session.evaluator));
    const auto contestants = contestants_of(entry.candidate, session.reference);
    FATUNE_TRY(auto rows, session.evaluator->finals(contestants, plan));
    results.push_back({entry.problem_name, std::move(rows)});
  }
  return results;
}

Json bench_json(const std::vector<Measured>& results, const Environment& environment) {
  Json problems = Json::array();
  for (const Measured& result : results) {
    Json rows = Json::array();
    for (const FinalRecord& row : result.rows) rows.push_back(to_json(Record(row)));
    problems.push_back({{"name", result.problem_name}, {"rows", rows}});
  }
  return {{"schema", "fatune.bench/1"},
          {"environment", to_json(environment)},
          {"recorded", environment.recorded},
          {"problems", problems}};
}

std::string interval(const Timing& t) {
  if (!t.ci95_low_us || !t.ci95_high_us) return "";
  return fixed(*t.ci95_low_us, 2) + " .. " + fixed(*t.ci95_high_us, 2);
}

std::vector<std::string> cells(const FinalRecord& row) {
  if (!row.hot)
    return {row.impl, row.role, std::string(name(row.outcome)), "", "", "", "", "", row.reason};
  const double rate = (flops(row.problem) / to_seconds(Micros(row.hot->median_us))).value;
  return {row.impl,
          row.role,
          fixed(row.hot->median_us, 2),
          interval(*row.hot),
          fixed(row.hot->q3_us - row.hot->q1_us, 3),
          std::to_string(row.hot->samples),
          row.cold ? fixed(row.cold->median_us, 2) : "",
          fixed(rate, 1),
          row.config.dump()};
}

std::string bench_text(const std::vector<Measured>& results) {
  std::string text;
  for (const Measured& result : results) {
    Table table({{"impl"},
                 {"role"},
                 {"hot us", Align::kRight},
                 {"95 % interval"},
                 {"IQR", Align::kRight},
                 {"n", Align::kRight},
                 {"cold us", Align::kRight},
                 {"TFLOP/s", Align::kRight},
                 {"config"}});
    for (const FinalRecord& row : result.rows) table.add(cells(row));
    text += result.problem_name + "\n" + table.text() + "\n";
  }
  return text;
}

Result<FinalPlan> final_plan(const BenchArgs& args) {
  FinalPlan plan;
  const auto rounds = parse_integer(args.rounds);
  if (!rounds || *rounds < 10 || *rounds > 10000) {
    return usage_error("--rounds: '" + args.rounds +
                       "' is not a number from 10 to 10000; fewer than 10 give no interval");
  }
  plan.rounds = static_cast<int>(*rounds);
  FATUNE_TRY(plan.seed, parse_seed(args.seed));
  plan.edge_problems = false;
  return plan;
}

Result<int> bench(const BenchArgs& args, const Settings& settings) {
  FATUNE_TRY(const FinalPlan plan, final_plan(args));
  FATUNE_TRY(const Session session, open_session(args.choice, args.device, settings));
  FATUNE_TRY(const auto results, measure(session, plan));
  if (args.common.json) {
    print_json(bench_json(results, session.evaluator->environment()));
  } else {
    print_with_notice(session, bench_text(results));
  }
  for (const Measured& result : results) {
    if (result.rows.empty() || !result.rows.front().hot) return kAnswerIsNo;
  }
  return kDone;
}

int run(const BenchArgs& args) {
  auto settings = resolve(args.common);
  if (!settings) return fail(settings.error());
  auto code = bench(args, *settings);
  return code ? *code : fail(code.error());
}

}  // namespace

Runner setup_bench(CLI::App& command) {
  auto args = std::make_shared<BenchArgs>();
  add_choice_options(command, args->choice);
  command.add_option("--rounds", args->rounds, "Interleaved rounds")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--seed", args->seed, "Seed of the order and the intervals")
      ->type_name("N")
      ->capture_default_str();
  add_device_option(command, args->device);
  add_common_options(command, args->common);
  add_example(command, "fatune bench --config results/h200/mission/best.json");
  return [args] { return run(*args); };
}

}  // namespace fatune::cli
