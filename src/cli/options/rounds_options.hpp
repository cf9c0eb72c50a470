// rounds_options.hpp - --rounds and --seed of a final phase, from options to plan and back.
#pragma once

#include <string>

#include "cli/options/args.hpp"
#include "core/result.hpp"
#include "tune/evaluate/evaluator.hpp"

namespace fatune::cli {

struct RoundsArgs {
  std::string rounds = "40";
  std::string seed = "42";
};
void add_rounds_options(CLI::App& command, RoundsArgs& args);
Result<FinalPlan> resolve_rounds(const RoundsArgs& args);
/// For a recorded command: " --rounds 80 --seed 42", the rounds only where they are not the usual.
std::string repeat_options(const RoundsArgs& args);

}  // namespace fatune::cli
