// settings.cpp - resolves common options against HOME, PATH, CUDA_HOME and the like.
#include "cli/options/settings.hpp"

#include <chrono>
#include <cstdlib>
#include <ctime>

#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/exit_code.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "core/text.hpp"

namespace fatune::cli {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

constexpr EnvironmentVariable kVariables[] = {
    {"CUDA_HOME, CUDA_PATH", "A CUDA toolkit to look for NVRTC, its headers and tools in first."},
    {"FATUNE_PYTHON", "The Python with PyTorch, for torch:*; --python wins."},
    {"PATH",
     "Where python3, ncu, compute-sanitizer, cuobjdump and external programs are looked for."},
    {"XDG_CACHE_HOME", "The compilation cache is fatune in here [~/.cache]; --cache wins."},
    {"XDG_DATA_HOME", "NVRTC from pip is looked for in fatune/cuda in here [~/.local/share]."},
    {"COLUMNS", "The width of tables and of --help [the terminal's, 80 where there is none]."},
    {"NO_COLOR", "No colours, whatever it is set to."},
    {"TERM", "With dumb: no colours, and plain lines of progress."}};

/// A terminal that knows more than letters.
bool is_capable_terminal(int descriptor) {
  return isatty(descriptor) == 1 && environment("TERM") != "dumb";
}

bool takes_colour(int descriptor) {
  return is_capable_terminal(descriptor) && environment("NO_COLOR").empty();
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

/// The virtual environment that doctor's line for PyTorch makes; else the one on PATH.
std::string own_python() {
  for (const auto& folder : data_folders()) {
    const auto python = folder / "torch" / "bin" / "python3";
    std::error_code ignored;
    if (std::filesystem::exists(python, ignored)) return python;
  }
  return "python3";
}

/// What implementations from elsewhere need.
Status resolve_outside(const CommonArgs& args, Settings& settings) {
  settings.python = args.python.empty() ? environment("FATUNE_PYTHON") : args.python;
  if (settings.python.empty()) settings.python = own_python();
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

std::span<const EnvironmentVariable> environment_variables() { return kVariables; }

std::vector<std::filesystem::path> data_folders() {
  std::vector<std::filesystem::path> folders;
  if (const std::string xdg = environment("XDG_DATA_HOME"); !xdg.empty()) {
    folders.emplace_back(std::filesystem::path(xdg) / "fatune");
  } else if (const std::string home = environment("HOME"); !home.empty()) {
    folders.emplace_back(std::filesystem::path(home) / ".local" / "share" / "fatune");
  }
  folders.emplace_back("/usr/local/share/fatune");
  return folders;
}

std::size_t text_columns() {
  const auto typed = parse_integer(environment("COLUMNS"));
  if (typed && *typed > 0) return static_cast<std::size_t>(*typed);
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsualColumns;
}

void set_log_colour() {
  log::set_colour(takes_colour(STDERR_FILENO) ? log::Colour::kAnsi : log::Colour::kNone);
}

Result<Settings> resolve(const CommonArgs& args) {
  log::set_level(log_level(args));
  Settings settings;
  settings.json = args.json;
  settings.quiet = args.quiet;
  settings.live = !args.quiet && is_capable_terminal(STDERR_FILENO);
  settings.paint =
      Paint(takes_colour(STDOUT_FILENO) ? Colour::kAnsi : Colour::kNone, text_columns());
  settings.live_paint = Paint(takes_colour(STDERR_FILENO) ? Colour::kAnsi : Colour::kNone);
  std::string cuda_home = environment("CUDA_HOME");
  if (cuda_home.empty()) cuda_home = environment("CUDA_PATH");
  std::vector<std::filesystem::path> folders = project_folders();
  for (const auto& folder : data_folders()) folders.push_back(folder);
  settings.search = gpu::default_search_paths(cuda_home, folders);
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

int with_settings(const CommonArgs& args, const std::function<Result<int>(const Settings&)>& body) {
  const auto settings = resolve(args);
  if (!settings) return fail(settings.error());
  const auto code = body(*settings);
  return code ? *code : fail(code.error());
}

Result<CompilePool> open_pool(const Settings& settings, std::size_t jobs) {
  PoolOptions options;
  options.jobs = jobs;
  options.cache = settings.cache;
  options.search = settings.search;
  return CompilePool::start(options);
}

OutsideOptions outside_options(const Settings& settings) {
  OutsideOptions options;
  options.python = settings.python;
  for (const auto& root : settings.search.cuda_roots) {
    options.library_folders.push_back(root);
    // Of a wheel: SITE_PACKAGES/nvidia/cu13. The wheels of other libraries lie beside it.
    if (root.parent_path().filename() == "nvidia")
      options.library_folders.push_back(root.parent_path().parent_path());
  }
  options.external_folders = settings.external_dirs;
  options.program_folders = settings.program_folders;
  return options;
}

std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm local{};
  localtime_r(&now, &local);
  char text[16];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d", &local));
}

}  // namespace fatune::cli
