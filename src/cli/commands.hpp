// commands.hpp - the commands: each registers its options on its subcommand and gives what runs it;
// with what every command needs.
#pragma once

#include <string>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/options/settings.hpp"
#include "cli/output.hpp"
#include "core/result.hpp"
#include "model/kernel/kernel.hpp"
#include "model/results/plan.hpp"

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

struct ChoiceArgs;
// Parts of commands in files of their own; each prints and gives the exit code.

/// `fatune sweep --compile-only`: compiles up to the plan's budget of configs for each problem and
/// kernel, for an architecture, "sm_90a"; needs no GPU. 1 when a config did not compile.
Result<int> compile_only(const std::string& arch, std::size_t jobs, const RunPlan& plan,
                         const std::vector<KernelRef>& kernels, const Settings& settings);
/// `fatune verify --selftest`: do the gates catch what they are meant to catch? Needs a GPU: a
/// recorded device is a usage error, no driver an environment error.
Result<int> selftest(const ChoiceArgs& choice, const std::string& device, const Settings& settings);
/// `fatune kernels space`: the space of another tuner's T1 file, counted.
Result<int> show_t1_space(const std::string& path, const Settings& settings);
/// `fatune __complete WORD...`: what a shell's script asks at each tab.
int complete_words(const CLI::App& app, const std::vector<std::string>& typed);

}  // namespace fatune::cli
