// cmd_export.hpp - `fatune export`: a best config as files that other programs load.
#pragma once

#include "cli/options/args.hpp"

namespace fatune::cli {

Runner setup_export(CLI::App& command);

}  // namespace fatune::cli
