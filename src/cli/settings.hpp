// settings.hpp - common options and the environment, resolved; the only reader of environment
// variables.
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.hpp"
#include "cli/args.hpp"
#include "gpu/library.hpp"

namespace fatune::cli {

struct Settings {
  bool json = false;
  bool quiet = false;
  bool live = false;    ///< stderr is a terminal: a progress line may be redrawn
  bool colour = false;  ///< stdout is a terminal and NO_COLOR is not set
  gpu::SearchPaths search;
  std::filesystem::path cache;
  std::vector<std::filesystem::path> kernel_dirs;
  std::string python;
  std::vector<std::filesystem::path> external_dirs;
  std::vector<std::filesystem::path> program_folders;  ///< PATH, split
};

/// Also sets the log level.
Result<Settings> resolve(const CommonArgs& args);

}  // namespace fatune::cli
