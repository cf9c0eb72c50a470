// cmd_gate.cpp - measures a candidate beside its baselines and decides by interval: exit 0 or 1.
#include "cli/commands/cmd_gate.hpp"

#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/exit_code.hpp"
#include "cli/options/catalog.hpp"
#include "cli/options/gate_sides.hpp"
#include "cli/options/problems.hpp"
#include "cli/options/rounds_options.hpp"
#include "cli/options/with_settings.hpp"
#include "cli/output.hpp"
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
  FATUNE_TRY(const Objective objective, parse_objective(args.objective));
  rules.objective = name(objective);
  return rules;
}

std::string command_line(const GateArgs& args) {
  const GateArgs usual;
  std::string text = "fatune gate --candidate " + shell_word(args.sides.candidate) +
                     " --baseline " + shell_word(args.sides.baselines) +
                     repeat_options(args.sides.problem);
  if (args.threshold != usual.threshold) text += " --threshold " + args.threshold;
  if (args.objective != usual.objective) text += " --objective " + args.objective;
  return text + repeat_options(args.rounds) + repeat_options(args.common);
}

Status check_format(const std::string& format) {
  if (format == "text" || format == "md") return {};
  return usage_error("--format: '" + format + "' is neither text nor md");
}

void print_result(const GateResult& result, const GateArgs& args, const Settings& settings,
                  const Session& session) {
  if (settings.json) {
    print_json(gate_json(result));
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
  const KernelRef& kernel = candidates.front().contestant.candidate.kernel;
  const OperationRef operation = kernel ? kernel->manifest.operation : nullptr;
  FATUNE_TRY(const Session session,
             open_session(std::move(catalog), operation, args.device, settings));
  FATUNE_TRY(const auto questions, gate_questions(args.sides, candidates, session, settings));
  FATUNE_TRY(GateResult result, run_gate(questions, rules, plan, *session.evaluator));
  result.command = command_line(args);
  if (!args.out.empty()) FATUNE_TRY_STATUS(replace_file(args.out, dump_pretty(gate_json(result))));
  print_result(result, args, settings, session);
  if (result.passed) return kDone;
  if (has_answer(result)) return kAnswerIsNo;
  log::error("nothing could be compared; the reasons are above");
  return kEnvironment;
}

int run(const GateArgs& args) {
  return with_settings(args.common, [&](const Settings& settings) { return gate(args, settings); });
}

void add_side_options(CLI::App& command, GateArgs& args) {
  command
      .add_option("--candidate", args.sides.candidate,
                  "A best.json or config file, a kernel, or an implementation")
      ->type_name("WHAT")
      ->required();
  command
      .add_option("--baseline", args.sides.baselines,
                  "What it must beat, each of them: implementations, kernels, files of `bench "
                  "--out`")
      ->type_name("WHAT,...")
      ->required();
  add_problem_options(command, args.sides.problem);
}

}  // namespace

Runner setup_gate(CLI::App& command) {
  auto args = std::make_shared<GateArgs>();
  add_side_options(command, *args);
  command
      .add_option("--threshold", args->threshold,
                  "Pass when the whole interval of candidate/baseline is below")
      ->type_name("R")
      ->capture_default_str();
  command.add_option("--objective", args->objective, "What is compared: hot or cold latency")
      ->type_name("hot|cold")
      ->capture_default_str();
  add_rounds_options(command, args->rounds);
  command.add_option("--format", args->format, "text, or md for a pull request's comment")
      ->type_name("text|md")
      ->capture_default_str();
  command.add_option("--out", args->out, "Write the decision with all numbers (fatune.gate/1)")
      ->type_name("FILE");
  add_device_option(command, args->device);
  add_common_options(command, args->common);
  add_example(command,
              "fatune gate --candidate best.json --baseline torch:flash,torch:math --threshold "
              "0.95");
  return [args] { return run(*args); };
}

}  // namespace fatune::cli
