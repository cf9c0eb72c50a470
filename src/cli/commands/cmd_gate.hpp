// cmd_gate.hpp - `fatune gate`: is the candidate faster than every baseline, for sure?
#pragma once

#include "cli/options/args.hpp"

namespace fatune::cli {

Runner setup_gate(CLI::App& command);

}  // namespace fatune::cli
