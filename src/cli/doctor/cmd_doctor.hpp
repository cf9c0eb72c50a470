// cmd_doctor.hpp - `fatune doctor`: is this machine able and quiet enough, and what is missing.
#pragma once

#include "cli/options/args.hpp"

namespace fatune::cli {
Runner setup_doctor(CLI::App& command);
}
