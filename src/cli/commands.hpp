// commands.hpp - the table of commands; finds and runs the one that was typed.
#pragma once

#include <functional>
#include <span>
#include <string>

namespace fatune::cli {

/// Parses, runs, and returns the exit code. --help and --version print and are done.
int run_command(int argc, const char* const* argv);
/// The body of a hidden worker command ("compile-worker", "device-worker", "profile-worker"); empty
/// for everything else.
std::function<int()> find_worker(std::span<const std::string> args);

}  // namespace fatune::cli
