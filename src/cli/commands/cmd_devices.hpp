// cmd_devices.hpp - `fatune devices`: which GPUs are here, and the recording that stands in without
// one.
#pragma once

#include "cli/options/args.hpp"

namespace fatune::cli {
Runner setup_devices(CLI::App& command);
}
