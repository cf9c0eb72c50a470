// cmd_inspect.hpp - `fatune inspect`: what is in a kernel's space, and why a config is ruled out.
#pragma once

#include "cli/options/args.hpp"

namespace fatune::cli {
Runner setup_inspect(CLI::App& command);
}
