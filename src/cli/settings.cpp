// settings.cpp - resolves common options against HOME, PATH, CUDA_HOME and the like.
#include "cli/settings.hpp"

#include <cstdlib>
#include <string>

#include <unistd.h>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

namespace fatune::cli {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::filesystem::path cache_folder(const CommonArgs& args) {
  if (!args.cache.empty()) return args.cache;
  if (const std::string xdg = environment("XDG_CACHE_HOME"); !xdg.empty())
    return std::filesystem::path(xdg) / "fatune";
  if (const std::string home = environment("HOME"); !home.empty())
    return std::filesystem::path(home) / ".cache" / "fatune";
  return std::filesystem::temp_directory_path() / "fatune-cache";
}

/// `.deps` of a checkout: beside the program or up to three folders above it, where ./fatune puts
/// the wheels.
std::vector<std::filesystem::path> project_folders() {
  std::vector<std::filesystem::path> found;
  std::filesystem::path folder = executable_path().parent_path();
  for (int up = 0; up < 4 && !folder.empty(); ++up, folder = folder.parent_path()) {
    std::error_code ignored;
    if (std::filesystem::is_directory(folder / ".deps", ignored)) found.push_back(folder / ".deps");
  }
  return found;
}

log::Level log_level(const CommonArgs& args) {
  if (args.quiet) return log::Level::kWarn;
  return args.verbose > 0 ? log::Level::kDebug : log::Level::kInfo;
}

/// What implementations from elsewhere need.
Status resolve_outside(const CommonArgs& args, Settings& settings) {
  settings.python = args.python.empty() ? environment("FATUNE_PYTHON") : args.python;
  if (settings.python.empty()) settings.python = "python3";
  for (const std::string& folder : args.external_dirs) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder, ignored))
      return file_error("--external-dir: " + folder + " is not a folder");
    settings.external_dirs.emplace_back(folder);
  }
  for (const std::string& folder : split(environment("PATH"), ':')) {
    if (!folder.empty()) settings.program_folders.emplace_back(folder);
  }
  return {};
}

}  // namespace

Result<Settings> resolve(const CommonArgs& args) {
  log::set_level(log_level(args));
  Settings settings;
  settings.json = args.json;
  settings.quiet = args.quiet;
  settings.live = !args.quiet && isatty(STDERR_FILENO) == 1;
  settings.colour = isatty(STDOUT_FILENO) == 1 && environment("NO_COLOR").empty();
  std::string cuda_home = environment("CUDA_HOME");
  if (cuda_home.empty()) cuda_home = environment("CUDA_PATH");
  settings.search = gpu::default_search_paths(cuda_home, project_folders());
  settings.search.nvrtc = args.nvrtc;
  if (!args.nvrtc.empty() && !std::filesystem::exists(args.nvrtc)) {
    return environment_error("--nvrtc: " + args.nvrtc + " does not exist");
  }
  settings.cache = cache_folder(args);
  for (const std::string& folder : args.kernel_dirs) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder, ignored))
      return file_error("--kernel-dir: " + folder + " is not a folder");
    settings.kernel_dirs.emplace_back(folder);
  }
  FATUNE_TRY_STATUS(resolve_outside(args, settings));
  return settings;
}

}  // namespace fatune::cli
