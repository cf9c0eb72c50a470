// cmd_report.hpp - `fatune report`: what a run tried, for people and for other tuners.
#pragma once

#include "cli/options/args.hpp"

namespace fatune::cli {
Runner setup_report(CLI::App& command);
}
