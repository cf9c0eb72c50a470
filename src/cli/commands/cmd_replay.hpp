// cmd_replay.hpp - `fatune replay`: what a search strategy would have found in recorded data.
#pragma once

#include "cli/options/args.hpp"

namespace fatune::cli {
Runner setup_replay(CLI::App& command);
}
