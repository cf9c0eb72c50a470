// settings.hpp - common options and the environment, resolved, and what a command starts from with
// them; the only reader of environment variables.
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
#include "out/text/layout.hpp"
#include "tune/compile/pool.hpp"
#include "tune/evaluate/implementations.hpp"

namespace fatune::cli {

struct Settings {
  DocumentHead head;  ///< of the document that answers what was typed
  bool json = false;
  bool quiet = false;
  bool live = false;  ///< stderr is a terminal: a progress line may be redrawn
  Paint paint;       ///< of stdout: its columns, and colours unless NO_COLOR is set or TERM is dumb
  Paint live_paint;  ///< the same of stderr
  gpu::SearchPaths search;
  std::filesystem::path cache;
  std::uint64_t cache_limit = 0;  ///< bytes; 0: none
  std::vector<std::filesystem::path> kernel_dirs;
  std::string python;
  std::vector<std::filesystem::path> program_folders;  ///< PATH, split
};

struct EnvironmentVariable {
  const char* name;
  const char* meaning;
};
/// The value of one of them; empty where it is not set.
std::string environment(const char* name);
/// Those that are read, for the manual.
std::span<const EnvironmentVariable> environment_variables();
/// Where fatune's data may lie, whether or not they exist: the user's own first.
std::vector<std::filesystem::path> data_folders();

/// Of the terminal behind a descriptor, `otherwise` where there is none.
std::size_t terminal_columns(int descriptor, std::size_t otherwise);
/// $COLUMNS, else the width of the terminal on stdout; 80 where there is none.
std::size_t text_columns();
/// Messages have colours by the same rule; comes before the first of them.
void set_log_colour();

/// Resolves the common options and sets the log level. The exit code of `body`, or of the error
/// that it or the options gave, which is logged.
int with_settings(const CommonArgs& args, const Invocation& invocation,
                  const std::function<Result<int>(const Settings&)>& body);
/// A command registers its options on its subcommand and returns what runs it.
using Runner = std::function<int(const Invocation&)>;
/// Registers a command's options and example. What it gives runs `body` on them.
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
/// `jobs`: 0 is decided by the number of cores.
PoolOptions pool_options(const Settings& settings, std::size_t jobs = 0);
Result<CompilePool> open_pool(const Settings& settings, std::size_t jobs = 0);
/// Names Python and folders of libraries.
OutsideOptions outside_options(const Settings& settings);
/// Local time by a format of strftime; of "%Y-%m-%d" without one, which written results carry.
std::string local_time(const char* format = "%Y-%m-%d");

/// Where the driver and PyTorch keep files between runs: a device worker writes nowhere else.
/// Variables that name other places are asked, as the driver asks them.
std::vector<std::filesystem::path> device_worker_folders();
/// Leaves the driver, which this process must not have started, one device of those that it would
/// see: to start, it takes 0.2 s for each.
void see_device_alone(const std::string& ordinal);
/// CUDA_VISIBLE_DEVICES for that, of its present value (null: it is not set): empty, so that none
/// is visible, where there is no such device among them.
std::string visible_alone(const std::string& ordinal, const char* visible);

}  // namespace fatune::cli
