// commands.hpp - the commands: each registers its options on its subcommand and gives what runs it.
#pragma once

#include <string>
#include <vector>

#include "cli/options/args.hpp"

namespace fatune::cli {

/// Parses, runs, and returns the exit code. --help and --version print and are done.
int run_command(int argc, const char* const* argv);

Runner setup_sweep(CLI::App& command);
Runner setup_bench(CLI::App& command);
Runner setup_verify(CLI::App& command);
Runner setup_gate(CLI::App& command);
Runner setup_profile(CLI::App& command);
Runner setup_export(CLI::App& command);
Runner setup_report(CLI::App& command);
Runner setup_replay(CLI::App& command);
Runner setup_inspect(CLI::App& command);
Runner setup_kernels(CLI::App& command);
Runner setup_devices(CLI::App& command);
Runner setup_doctor(CLI::App& command);
Runner setup_completions(CLI::App& command);
Runner setup_man(CLI::App& command);
Runner setup_schema(CLI::App& command);

/// `fatune __complete WORD...`: what a shell's script asks at each tab.
int complete_words(const CLI::App& app, const std::vector<std::string>& typed);

}  // namespace fatune::cli
