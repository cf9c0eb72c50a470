// commands.hpp - the table of commands; finds and runs the one that was typed.
#pragma once

namespace fatune::cli {

/// Parses, runs, and returns the exit code. --help and --version print and are done.
int run_command(int argc, const char* const* argv);

}  // namespace fatune::cli
