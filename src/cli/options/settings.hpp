// settings.hpp - common options and the environment, resolved; the only reader of environment
// variables.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "cli/options/args.hpp"
#include "core/result.hpp"
#include "gpu/library.hpp"
#include "out/text/paint.hpp"

namespace fatune::cli {

struct Settings {
  bool json = false;
  bool quiet = false;
  bool live = false;  ///< stderr is a terminal: a progress line may be redrawn
  Paint paint;       ///< of stdout: its columns, and colours unless NO_COLOR is set or TERM is dumb
  Paint live_paint;  ///< the same of stderr
  gpu::SearchPaths search;
  std::filesystem::path cache;
  std::vector<std::filesystem::path> kernel_dirs;
  std::string python;
  std::vector<std::filesystem::path> external_dirs;
  std::vector<std::filesystem::path> program_folders;  ///< PATH, split
};

struct EnvironmentVariable {
  const char* name;
  const char* meaning;
};
/// Those that are read, for the manual.
std::span<const EnvironmentVariable> environment_variables();
/// Where fatune's data may lie, whether or not they exist: the user's own first.
std::vector<std::filesystem::path> data_folders();

/// $COLUMNS, else the width of the terminal on stdout; 80 where there is none.
std::size_t text_columns();
/// Messages have colours by the same rule; comes before the first of them.
void set_log_colour();
/// Also sets the log level.
Result<Settings> resolve(const CommonArgs& args);

}  // namespace fatune::cli
