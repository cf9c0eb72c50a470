// cmd_completions.hpp - `fatune completions`: the script that completes fatune's words in a shell.
#pragma once

#include "cli/options/args.hpp"

namespace fatune::cli {
Runner setup_completions(CLI::App& command);
}
