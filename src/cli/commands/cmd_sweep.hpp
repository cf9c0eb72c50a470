// cmd_sweep.hpp - `fatune sweep`: which candidate is fastest, among the correct ones.
#pragma once

#include "cli/options/args.hpp"

namespace fatune::cli {
Runner setup_sweep(CLI::App& command);
}
