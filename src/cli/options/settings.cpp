// settings.cpp: Resolves common options against HOME, PATH, CUDA_HOME and other variables.
#include "cli/options/settings.hpp"

#include <cstdlib>
#include <ctime>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.hpp"
#include "core/log.hpp"
#include "core/text.hpp"

namespace fatune::cli {
namespace {

constexpr const char* kBlocking = "CUDA_LAUNCH_BLOCKING";
constexpr EnvironmentVariable kVariables[] = {
    {kBlocking, "Ignored with a warning: fatune times launches that do not wait."},
    {"CUDA_HOME, CUDA_PATH",
     "CUDA toolkit that is searched first for NVRTC, its headers and tools."},
    {"FATUNE_CACHE_SIZE",
     "Size limit of the compilation cache, such as 500M or 20G; the least recently used files are "
     "deleted first. 0: no limit [5G]."},
    {"FATUNE_PYTHON", "Python to use, with PyTorch and the packages beside it; --python wins."},
    {"PATH", "Folders that are searched for python3, ncu, compute-sanitizer and cuobjdump."},
    {"SLURM_ARRAY_TASK_ID, _COUNT, _MIN, _STEP; SLURM_PROCID, SLURM_NTASKS",
     "Part that sweep --shard auto takes: a task of a job array, or of a step."},
    {"JOB_COMPLETION_INDEX",
     "Part that sweep --shard auto/N takes in an indexed job of Kubernetes."},
    {"OMPI_COMM_WORLD_SIZE, PMI_SIZE; PMIX_RANK, SLURM_STEP_NUM_TASKS",
     "Number of processes that mpirun or srun started for one sweep."},
    {"FATUNE_SILENCE",
     "Seconds of silence after which a rank of mpirun or srun counts as dead [30]."},
    {"XDG_CACHE_HOME", "Parent folder of the compilation cache, fatune [~/.cache]; --cache wins."},
    {"XDG_CONFIG_HOME", "Parent folder of fatune/config.toml, the defaults [~/.config]."},
    {"XDG_DATA_HOME",
     "Parent folder of fatune/cuda, which is searched for NVRTC from pip [~/.local/share]."},
    {"COLUMNS", "Width of tables and of --help [the terminal's, 80 without a terminal]."},
    {"NO_COLOR", "Turns colours off, whatever the value."},
    {"TERM", "dumb turns colours off and prints progress as plain lines."}};

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

/// Whether `outer/inner` exists and both folders are trusted.
bool is_usable(const std::filesystem::path& program, const std::filesystem::path& outer,
               const char* inner) {
  if (!is_there(outer / inner)) return false;
  if (is_trusted(outer, program) && is_trusted(outer / inner, program)) return true;
  log::warn(
      fmt::format("{} belongs to another user or may be written by others; nothing is "
                  "loaded from it",
                  (outer / inner).string()));
  return false;
}

/// Whether the descriptor is a terminal with control sequences.
bool is_capable_terminal(int descriptor) {
  return isatty(descriptor) == 1 && environment("TERM") != "dumb";
}

bool takes_colour(int descriptor) {
  return is_capable_terminal(descriptor) && environment("NO_COLOR").empty();
}

/// Cache folder of a user without HOME; empty if the system has no temporary folder.
std::filesystem::path temporary_cache() {
  std::error_code failure;
  const auto base = std::filesystem::temp_directory_path(failure);
  return failure ? std::filesystem::path() : base / fmt::format("fatune-cache-{}", ::geteuid());
}

std::filesystem::path cache_folder(const CommonArgs& args) {
  if (!args.cache.empty()) return args.cache;
  if (const std::string xdg = environment("XDG_CACHE_HOME"); !xdg.empty())
    return std::filesystem::path(xdg) / "fatune";
  if (const std::string home = environment("HOME"); !home.empty())
    return std::filesystem::path(home) / ".cache" / "fatune";
  return temporary_cache();
}

/// Default of ccache; holds some 50,000 candidates.
constexpr const char* kUsualCacheSize = "5G";

Result<std::uint64_t> cache_limit() {
  const std::string set = environment("FATUNE_CACHE_SIZE");
  std::string_view text = set.empty() ? kUsualCacheSize : std::string_view(set);
  constexpr std::string_view kUnits = "kMGT";
  std::uint64_t unit = 1;
  if (const std::size_t power = kUnits.find(text.back()); power != std::string_view::npos) {
    for (std::size_t i = 0; i <= power; ++i) unit *= 1000;
    text.remove_suffix(1);
  }
  const auto number = parse_integer(text);
  constexpr std::int64_t kMost = 1'000'000;
  if (number && *number >= 0 && (*number <= kMost || unit == 1))
    return static_cast<std::uint64_t>(*number) * unit;
  return usage_error("FATUNE_CACHE_SIZE is '" + set + "', not a size like 500M or 20G");
}

/// Returns the cache folder, or an empty path if another user made the temporary folder first.
/// Machine code from the cache runs as this user.
std::filesystem::path trusted_cache(const std::filesystem::path& folder) {
  if (folder.empty()) return folder;
  const bool temporary = folder == temporary_cache();
  if (temporary) ::mkdir(folder.c_str(), S_IRWXU);
  struct stat found {};
  if (::lstat(folder.c_str(), &found) != 0) return folder;  // made when it is first written to
  const bool own = S_ISDIR(found.st_mode) && found.st_uid == ::geteuid();
  if (temporary) {
    if (own && (found.st_mode & (S_IRWXG | S_IRWXO)) == 0) return folder;
    log::warn(
        fmt::format("compiling without the cache: {} is not private to this user; set HOME or "
                    "name a folder with --cache",
                    folder.string()));
    return {};
  }
  if (::stat(folder.c_str(), &found) != 0) return folder;
  const bool foreign = found.st_uid != ::geteuid() && found.st_uid != 0;
  const bool shared = (found.st_mode & S_IWGRP) != 0 && found.st_gid != ::getegid();
  if (foreign || shared || (found.st_mode & S_IWOTH) != 0) {
    log::warn(
        fmt::format("{}: other users may write into this cache, and its machine code is run; "
                    "name a folder of your own with --cache",
                    folder.string()));
  }
  return folder;
}

log::Level log_level(const CommonArgs& args) {
  if (args.quiet) return log::Level::kWarn;
  return args.verbose > 0 ? log::Level::kDebug : log::Level::kInfo;
}

/// Python of the virtual environment that doctor's PyTorch line makes, else the Python on PATH.
std::string own_python() {
  for (const auto& folder : data_folders()) {
    const auto python = folder / "torch" / "bin" / "python3";
    if (is_there(python)) return python;
  }
  return "python3";
}

Result<std::vector<std::filesystem::path>> folders_of(const std::string& flag,
                                                      const std::vector<std::string>& typed) {
  for (const std::string& folder : typed) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder, ignored))
      return file_error(flag + ": " + folder + " is not a folder");
  }
  return std::vector<std::filesystem::path>(typed.begin(), typed.end());
}

Result<Settings> resolve(const CommonArgs& args) {
  if (args.quiet && args.verbose > 0)
    return usage_error("--quiet and --verbose exclude each other; leave one out");
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
  const std::filesystem::path program = executable_path();
  std::vector<std::filesystem::path> folders = checkout_folders(program);
  for (const auto& folder : data_folders()) folders.push_back(folder);
  for (const auto& folder : installed_folders(program)) folders.push_back(folder);
  settings.search = gpu::default_search_paths(cuda_home, folders);
  settings.search.nvrtc = args.nvrtc;
  if (!args.nvrtc.empty() && !std::filesystem::exists(args.nvrtc)) {
    return environment_error("--nvrtc: " + args.nvrtc +
                             " does not exist; name a library or its folder");
  }
  settings.cache = cache_folder(args);
  FATUNE_TRY(settings.cache_limit, cache_limit());
  FATUNE_TRY(settings.kernel_dirs, folders_of("--kernel-dir", args.kernel_dirs));
  settings.python = args.python.empty() ? environment("FATUNE_PYTHON") : args.python;
  if (settings.python.empty()) settings.python = own_python();
  for (const std::string& folder : split(environment("PATH"), ':')) {
    if (!folder.empty()) settings.program_folders.emplace_back(folder);
  }
  return settings;
}

}  // namespace

bool is_trusted(const std::filesystem::path& folder, const std::filesystem::path& program) {
  struct stat built {};
  struct stat found {};
  if (::stat(program.c_str(), &built) != 0 || ::stat(folder.c_str(), &found) != 0) return false;
  const bool known =
      found.st_uid == ::geteuid() || found.st_uid == 0 || found.st_uid == built.st_uid;
  return known && (found.st_mode & S_IWOTH) == 0;
}

std::vector<std::filesystem::path> checkout_folders(const std::filesystem::path& program) {
  std::filesystem::path folder = program.parent_path();
  for (int up = 0; up < 4 && !folder.empty(); ++up, folder = folder.parent_path()) {
    if (!is_there(folder / "CMakeLists.txt")) continue;
    if (is_usable(program, folder, ".deps")) return {folder / ".deps"};
    return {};
  }
  return {};
}

std::vector<std::filesystem::path> installed_folders(const std::filesystem::path& program) {
  if (program.parent_path().filename() != "bin") return {};
  const std::filesystem::path prefix = program.parent_path().parent_path();
  std::vector<std::filesystem::path> folders;
  const std::filesystem::path data = prefix / "share" / "fatune";
  if (is_usable(program, data, "cuda")) folders.push_back(data);
  const std::filesystem::path site = prefix.parent_path();
  const bool package = prefix.filename() == "fatune" && is_there(prefix / "__init__.py");
  if (package && is_usable(program, site, "nvidia")) folders.push_back(site);
  return folders;
}

std::vector<std::filesystem::path> device_worker_folders() {
  std::vector<std::filesystem::path> folders = {"/tmp", "/var/tmp", "/dev", "/proc"};
  for (const char* name :
       {"TMPDIR", "CUDA_CACHE_PATH", "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY",
        "TORCH_HOME", "TORCH_EXTENSIONS_DIR", "TRITON_CACHE_DIR"}) {
    if (const std::string value = environment(name); !value.empty()) folders.emplace_back(value);
  }
  const std::filesystem::path home = environment("HOME");
  if (home.empty()) return folders;
  for (const char* cache : {".nv", ".triton", ".cache/torch", ".cache/torch_extensions"})
    folders.push_back(home / cache);
  return folders;
}

std::string visible_alone(const std::string& ordinal, const char* visible) {
  if (visible == nullptr) return ordinal;
  const std::vector<std::string> each = split(visible, ',');
  const auto place = static_cast<std::size_t>(parse_integer(ordinal).value_or(-1));
  return place < each.size() ? each[place] : "";
}

void see_device_alone(const std::string& ordinal) {
  constexpr const char* kVisible = "CUDA_VISIBLE_DEVICES";
  ::setenv(kVisible, visible_alone(ordinal, std::getenv(kVisible)).c_str(), 1);
}

void launch_asynchronously() { ::unsetenv(kBlocking); }

bool asks_for_blocking_launches() {
  const std::string value = environment(kBlocking);
  return !value.empty() && value != "0";
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

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

std::size_t terminal_columns(int descriptor, std::size_t otherwise) {
  winsize size{};
  const bool known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : otherwise;
}

std::size_t text_columns() {
  const auto typed = parse_integer(environment("COLUMNS"));
  return typed && *typed > 0 ? static_cast<std::size_t>(*typed)
                             : terminal_columns(STDOUT_FILENO, kUsualColumns);
}

void set_log_colour() {
  log::set_colour(takes_colour(STDERR_FILENO) ? log::Colour::kAnsi : log::Colour::kNone);
}

int with_settings(const CommonArgs& args, const Invocation& invocation,
                  const std::function<Result<int>(const Settings&)>& body) {
  auto settings = resolve(args);
  if (!settings) return fail(invocation, settings.error());
  settings->head = invocation.head;
  const auto code = body(*settings);
  return code ? *code : fail(invocation, code.error());
}

PoolOptions pool_options(const Settings& settings, std::size_t jobs) {
  return {.jobs = jobs,
          .cache = trusted_cache(settings.cache),
          .cache_limit = settings.cache_limit,
          .search = settings.search};
}

Result<CompilePool> open_pool(const Settings& settings, std::size_t jobs) {
  return CompilePool::start(pool_options(settings, jobs));
}

std::string version_text() {
  const std::string text = fmt::format("fatune {} ({})\nNVRTC ", FATUNE_VERSION, kCommit);
  auto settings = resolve({});
  if (!settings) return text + "unknown: " + settings.error().message;
  settings->cache.clear();  // nothing is compiled
  const auto pool = open_pool(*settings, 1);
  if (!pool) return text + "not found; fatune doctor says how to install it";
  return text + fmt::format("{} ({})", pool->compiler_version(), pool->compiler_path());
}

OutsideOptions outside_options(const Settings& settings) {
  OutsideOptions options;
  options.python = settings.python;
  for (const auto& root : settings.search.cuda_roots) {
    options.library_folders.push_back(root);
    // A wheel's folder is SITE_PACKAGES/nvidia/cu13; other libraries' wheels lie beside it.
    if (root.parent_path().filename() == "nvidia")
      options.library_folders.push_back(root.parent_path().parent_path());
  }
  options.program_folders = settings.program_folders;
  return options;
}

std::string local_time(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  return std::string(text, std::strftime(text, sizeof text, format, &local));
}

}  // namespace fatune::cli
