// cmd_profile.hpp - `fatune profile`: what binds this kernel.
#pragma once

#include "cli/options/args.hpp"

namespace fatune::cli {
Runner setup_profile(CLI::App& command);
}
