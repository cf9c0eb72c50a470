// commands.hpp: Declares the commands, each of which registers its options and returns its runner.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options/settings.hpp"
#include "cli/output.hpp"

namespace fatune::cli {

/// Parses and runs the command, and returns the exit code. --help and --version only print.
int run_command(const Invocation& invocation);

Runner setup_sweep(CLI::App& command);
Runner setup_tune(CLI::App& command);
Runner setup_resume(CLI::App& command);
Runner setup_finals(CLI::App& command);
Runner setup_compile(CLI::App& command);
Runner setup_bench(CLI::App& command);
Runner setup_verify(CLI::App& command);
Runner setup_gate(CLI::App& command);
Runner setup_profile(CLI::App& command);
Runner setup_export(CLI::App& command);
Runner setup_merge(CLI::App& command);
Runner setup_report(CLI::App& command);
Runner setup_replay(CLI::App& command);
Runner setup_inspect(CLI::App& command);
Runner setup_judge(CLI::App& command);
Runner setup_evolve(CLI::App& command);
Runner setup_kernels(CLI::App& command);
Runner setup_devices(CLI::App& command);
Runner setup_doctor(CLI::App& command);
Runner setup_completions(CLI::App& command);
Runner setup_man(CLI::App& command);
Runner setup_schema(CLI::App& command);
std::vector<std::string> schema_names();  ///< formats of `fatune schema`

/// `fatune __complete WORD...`: answers a shell's script at each tab.
int complete_words(const CLI::App& app, const std::vector<std::string>& typed);

}  // namespace fatune::cli
