// cmd_gate.cpp - measures a candidate beside its baselines and decides by interval: exit 0 or 1.
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/options/catalog.hpp"
#include "cli/options/gate_sides.hpp"
#include "cli/options/problems.hpp"
#include "cli/options/sweep_plan.hpp"
#include "core/fields.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "out/text/gate_report.hpp"

namespace fatune::cli {
namespace {

struct GateArgs {
  CommonArgs common;
  GateSides sides;
  std::string device = "auto";
  std::string threshold = "0.95";
  std::string objective = "hot";
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
  if (args.objective != "hot" && args.objective != "cold")
    return usage_error("--objective: '" + args.objective + "' is neither hot nor cold");
  rules.objective = args.objective;
  return rules;
}

OptionTable gate_table(GateArgs& a) {
  const OptionTable sides = {
      {"Compared",
       {{.flags = "--candidate",
         .value = &a.sides.candidate,
         .type = "WHAT",
         .help = "A best.json or config file, a kernel, or an implementation",
         .repeat = Repeat::kAlways,
         .required = true},
        {.flags = "--baseline",
         .value = &a.sides.baselines,
         .type = "WHAT,...",
         .help =
             "What it must beat, each of them: implementations, kernels, files of `bench --out`",
         .repeat = Repeat::kAlways,
         .required = true}}}};
  const OptionTable rules = {
      {"Decision",
       {{"--threshold", &a.threshold, "R",
         "Pass when the whole interval of candidate/baseline is below", Repeat::kChanged},
        {"--objective", &a.objective, "hot|cold", "What is compared: hot or cold latency",
         Repeat::kChanged},
        {"--format", &a.format, "text|md", "text, or md for a pull request's comment"},
        {"--out", &a.out, "FILE", "Write the decision with all numbers (fatune.gate/2)"}}}};
  return tables({sides, problem_table(a.sides.problem), rules, rounds_table(a.rounds),
                 device_table(a.device), common_table(a.common)});
}

Status check_format(const std::string& format) {
  if (format == "text" || format == "md") return {};
  return usage_error("--format: '" + format + "' is neither text nor md");
}

void print_result(const GateResult& result, const GateArgs& args, const Settings& settings,
                  const Session& session) {
  if (settings.json) {
    print_json(to_json(result));
  } else if (args.format == "md") {
    print(gate_markdown(result));
  } else {
    print_with_notice(session, gate_report(result, settings.paint));
  }
}

Result<int> gate(const GateArgs& args, const Settings& settings) {
  FATUNE_TRY_STATUS(check_format(args.format));
  FATUNE_TRY(GateRules rules, rules_of(args));
  FATUNE_TRY(const FinalPlan plan, resolve_rounds(args.rounds));
  rules.seed = plan.seed;
  FATUNE_TRY_STATUS(check_files({args.out}));
  FATUNE_TRY(auto catalog, load_catalog(settings));
  FATUNE_TRY(const auto candidates, gate_candidates(args.sides, catalog, settings));
  const KernelRef& kernel = candidates.front().candidate.kernel;
  const OperationRef operation = kernel ? kernel->manifest.operation : attention();
  FATUNE_TRY(const Session session,
             open_session(std::move(catalog), operation, args.device, settings));
  FATUNE_TRY(const auto questions, gate_questions(args.sides, candidates, session, settings));
  FATUNE_TRY(GateResult result, run_gate(questions, rules, plan, *session.evaluator));
  result.command = "fatune gate" + repeat_options(gate_table, args);
  if (!args.out.empty()) FATUNE_TRY_STATUS(replace_file(args.out, dump_pretty(to_json(result))));
  print_result(result, args, settings, session);
  if (result.passed) return kDone;
  if (has_answer(result)) return kAnswerIsNo;
  log::error("nothing could be compared; the reasons are above");
  return kEnvironment;
}

}  // namespace

Runner setup_gate(CLI::App& command) {
  return make_runner(command, gate_table,
                     "fatune gate --candidate best.json --baseline torch:flash --threshold 0.95",
                     gate);
}

}  // namespace fatune::cli
