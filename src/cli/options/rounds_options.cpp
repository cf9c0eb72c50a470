// rounds_options.cpp - registers, checks and repeats the options of the rounds.
#include "cli/options/rounds_options.hpp"

#include <CLI/CLI.hpp>

#include "cli/options/sweep_plan.hpp"

namespace fatune::cli {

void add_rounds_options(CLI::App& command, RoundsArgs& args) {
  command.add_option("--rounds", args.rounds, "Interleaved rounds")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--seed", args.seed, "Seed of the order and the intervals")
      ->type_name("N")
      ->capture_default_str();
}

Result<FinalPlan> resolve_rounds(const RoundsArgs& args) {
  FinalPlan plan;
  FATUNE_TRY(plan.rounds, parse_rounds(args.rounds));
  FATUNE_TRY(plan.seed, parse_seed(args.seed));
  return plan;
}

std::string repeat_options(const RoundsArgs& args) {
  std::string text;
  if (args.rounds != RoundsArgs().rounds) text += " --rounds " + args.rounds;
  return text + " --seed " + args.seed;
}

}  // namespace fatune::cli
