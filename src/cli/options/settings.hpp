// settings.hpp: Resolves common options and environment variables. No other source reads
// environment variables.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/options/option_table.hpp"
#include "cli/output.hpp"
#include "core/result.hpp"
#include "gpu/library.hpp"
#include "report/text/layout.hpp"
#include "tune/compile/pool.hpp"
#include "tune/evaluate/implementations.hpp"

namespace fatune::cli {

struct Settings {
  DocumentHead head;  ///< head of the command's document
  bool json = false;
  bool quiet = false;
  bool live = false;  ///< stderr is a terminal: a progress line may be redrawn
  Paint paint;        ///< columns and colours of stdout; no colours with NO_COLOR or TERM=dumb
  Paint live_paint;   ///< columns and colours of stderr
  gpu::SearchPaths search;
  std::filesystem::path cache;
  std::uint64_t cache_limit = 0;  ///< bytes; 0: no limit
  std::vector<std::filesystem::path> kernel_dirs;
  std::string python;
  std::vector<std::filesystem::path> program_folders;  ///< PATH, split
};

struct EnvironmentVariable {
  const char* name;
  const char* meaning;
};
/// Value of a variable; empty if it is not set.
std::string environment(const char* name);
/// Variables that fatune reads, for the manual.
std::span<const EnvironmentVariable> environment_variables();
/// Folders that may hold fatune's data, the user's own first. They may not exist.
std::vector<std::filesystem::path> data_folders();

/// Columns of the terminal behind a descriptor; `otherwise` without a terminal.
std::size_t terminal_columns(int descriptor, std::size_t otherwise);
/// $COLUMNS, else the width of the terminal on stdout, else 80.
std::size_t text_columns();
/// Sets the colours of messages by the rule of Settings::paint. Call before the first message.
void set_log_colour();

/// Resolves the common options, sets the log level and runs `body`. Logs an error and returns the
/// exit code.
int with_settings(const CommonArgs& args, const Invocation& invocation,
                  const std::function<Result<int>(const Settings&)>& body);
/// Runs a command. Each command registers its options on its subcommand and returns a Runner.
using Runner = std::function<int(const Invocation&)>;
/// Registers a command's options and example. The result runs `body` on the options.
template <typename Args>
Runner make_runner(CLI::App& command, OptionTable (*table)(Args&), const std::string& example,
                   Result<int> (*body)(const Args&, const Settings&)) {
  auto args = std::make_shared<Args>();
  add_options(command, table(*args));
  add_example(command, example);
  return [args, body, &command](const Invocation& invocation) {
    args->common.typed = typed_options(command);
    return with_settings(args->common, invocation,
                         [&](const Settings& settings) { return body(*args, settings); });
  };
}
/// `jobs` 0: decided by the number of cores.
PoolOptions pool_options(const Settings& settings, std::size_t jobs = 0);
Result<CompilePool> open_pool(const Settings& settings, std::size_t jobs = 0);
/// The commit of git that was built, "-changed" behind it if the files differed; else "unknown".
extern const char* const kCommit;
extern const char* const kCommitDate;  ///< 2026-11-30; empty if unknown
/// Returns the text of --version: version, commit and the NVRTC that compiles.
std::string version_text();
/// Names the Python and the library folders of implementations.
OutsideOptions outside_options(const Settings& settings);
/// Local time in a format of strftime. The default is the date in written results.
std::string local_time(const char* format = "%Y-%m-%d");

/// Whether libraries of a folder may be loaded: this user, root or the owner of `program` owns the
/// folder, and others cannot write to it.
bool is_trusted(const std::filesystem::path& folder, const std::filesystem::path& program);

// The following functions leave out folders that are not trusted, with a warning.

/// `.deps` of the checkout of `program`, where ./fatune puts the wheels: at most three folders
/// above the program.
std::vector<std::filesystem::path> checkout_folders(const std::filesystem::path& program);

/// PREFIX/share/fatune of PREFIX/bin/fatune. For pip's SITE/fatune/bin/fatune also SITE, where pip
/// puts the required wheels.
std::vector<std::filesystem::path> installed_folders(const std::filesystem::path& program);

/// Folders to which the driver and PyTorch write, also by their variables. A device worker may
/// write nowhere else.
std::vector<std::filesystem::path> device_worker_folders();
/// Makes one device visible to the driver, which must not have started: each visible device adds
/// 0.2 s to its start.
void see_device_alone(const std::string& ordinal);
/// Unsets CUDA_LAUNCH_BLOCKING: with it the host's time between two launches would be measured.
void launch_asynchronously();
/// Whether CUDA_LAUNCH_BLOCKING asks for launches that wait.
bool asks_for_blocking_launches();
/// CUDA_VISIBLE_DEVICES for one device, from the present value (null: not set). Empty, so that no
/// device is visible, if the device is not in the list.
std::string visible_alone(const std::string& ordinal, const char* visible);

}  // namespace fatune::cli
