// cmd_bench.hpp - `fatune bench`: how fast is this config, and how sure are we.
#pragma once

#include "cli/options/args.hpp"

namespace fatune::cli {
Runner setup_bench(CLI::App& command);
}
