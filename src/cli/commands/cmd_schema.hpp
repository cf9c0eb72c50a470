// cmd_schema.hpp - `fatune schema`: the JSON Schema of what fatune writes.
#pragma once

#include "cli/options/args.hpp"

namespace fatune::cli {
Runner setup_schema(CLI::App& command);
}
