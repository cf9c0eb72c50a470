// cmd_man.hpp - `fatune man`: manual pages, made from what --help shows.
#pragma once

#include "cli/options/args.hpp"

namespace fatune::cli {
Runner setup_man(CLI::App& command);
}
