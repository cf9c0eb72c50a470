// commands.hpp: Declares the commands, each of which registers its options and returns its runner.
#pragma once

#include <string>
#include <vector>

#include "cli/options/settings.hpp"
#include "cli/output.hpp"
#include "core/result.hpp"
#include "model/kernel/kernel.hpp"
#include "model/results/journal.hpp"

namespace fatune::cli {

/// Parses and runs the command, and returns the exit code. --help and --version only print.
int run_command(const Invocation& invocation);

Runner setup_sweep(CLI::App& command);
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

/// `fatune sweep --compile-only`: compiles up to the plan's budget of configs for each problem and
/// kernel, for an architecture such as "sm_90a". Needs no GPU. Returns 1 if a config did not
/// compile.
Result<int> compile_only(const std::string& arch, std::size_t jobs, const RunPlan& plan,
                         const std::vector<KernelRef>& kernels, const Settings& settings);
/// `fatune __complete WORD...`: answers a shell's script at each tab.
int complete_words(const CLI::App& app, const std::vector<std::string>& typed);

}  // namespace fatune::cli
