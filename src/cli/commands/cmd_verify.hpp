// cmd_verify.hpp - `fatune verify`: is this config right, by every gate.
#pragma once

#include "cli/options/args.hpp"

namespace fatune::cli {
Runner setup_verify(CLI::App& command);
}
