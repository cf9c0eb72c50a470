// doctor_tools.cpp: Checks compilers, libraries and programs, and writes the lines that install
// them.
//
// Install lines use apt for packages of the distribution and pip --target for NVIDIA's wheels. The
// target is fatune's own folder: Debian 12 and Ubuntu 24.04 refuse foreign packages in the system's
// Python, and no other program needs these wheels.
#include <chrono>
#include <thread>

#include <fmt/core.h>
#include <unistd.h>

#include "cli/commands/tools.hpp"
#include "cli/doctor/doctor.hpp"
#include "cli/options/defaults.hpp"
#include "cli/options/launchers.hpp"
#include "core/file.hpp"
#include "core/run_program.hpp"
#include "core/text.hpp"
#include "gpu/library.hpp"
#include "transport/mpi_transport.hpp"
#include "tune/compile/pool.hpp"
#include "tune/evaluate/device_evaluator.hpp"

namespace fatune::cli {
namespace {

constexpr std::int64_t kDriverOfCuda13 = 580;

std::string apt(const HostSystem& host, const std::string& packages) {
  return (host.root ? "" : "sudo ") + std::string("apt-get install -y ") + packages;
}

bool has_apt(const HostSystem& host) {
  return host.distribution == "debian" || host.distribution == "ubuntu";
}

std::string pip(const HostSystem& host, const std::string& packages) {
  const std::string line = "python3 -I -m pip install --no-deps --target " +
                           shell_word((host.data / "cuda").string()) + " " + packages;
  if (host.pip || !has_apt(host)) return line;
  return apt(host, "python3-pip") + " && " + line;
}

std::string wheels(const HostSystem& host, std::vector<std::string> cuda_13,
                   std::vector<std::string> cuda_12) {
  return pip(host, join(cuda_major(host) >= 13 ? cuda_13 : cuda_12, " "));
}

/// Release in the names of packages of NVIDIA's archive: cuda-sanitizer-13-0.
std::string release(const HostSystem& host) { return cuda_major(host) >= 13 ? "13-0" : "12-9"; }

constexpr const char* kCompiler = "Compiler";
constexpr const char* kMachine = "Machine";
constexpr const char* kBaselines = "Baselines";
constexpr const char* kTools = "Tools";
constexpr std::chrono::seconds kPatience{20};  // chosen: a Python from a cold disk

/// Looks for files that container runtimes create.
bool is_container() {
  std::error_code ignored;
  return std::filesystem::exists("/.dockerenv", ignored) ||
         std::filesystem::exists("/run/.containerenv", ignored);
}

bool has_pip(const Settings& settings) {
  const auto python = find_program("python3", settings.program_folders);
  if (!python) return false;
  const auto run =
      run_program({.program = *python, .arguments = {"-I", "-m", "pip", "--version"}}, kPatience);
  return run && run->succeeded();
}

void add_headers(const Toolchain& toolchain, const std::string& compiler, const HostSystem& host,
                 Checks& checks) {
  if (!toolchain.headers_problem.empty()) {
    checks.push_back({Health::kNote, kCompiler, "CUDA headers", toolchain.headers_problem,
                      "only kernels that include mma.h need them: " + nvrtc_line(host)});
    return;
  }
  const auto& folder = toolchain.include_folders.front();
  const auto text = read_file(folder / "cuda.h");
  const std::string release = text ? cuda_release(*text) : "";
  Check check{
      Health::kGood, kCompiler, "CUDA headers",
      (release.empty() ? "" : release + " (") + folder.string() + (release.empty() ? "" : ")"), ""};
  if (!release.empty() && !compiler.empty() && !compiler.starts_with(release + ".") &&
      compiler != release) {
    check.health = Health::kNote;
    check.found += ", not those of NVRTC " + compiler;
    check.remedy = "name an NVRTC of the same release with --nvrtc PATH, or: " + nvrtc_line(host);
  }
  checks.push_back(std::move(check));
}

/// Line that installs a missing implementation; programs give their own remedy.
std::string remedy_of(const Availability& missing, const HostSystem& host) {
  if (missing.impl == "cudnn") return cudnn_line(host);
  if (missing.impl == "cublas") return cublas_line(host);
  if (missing.impl == "torch:*") return torch_line(host);
  return missing.remedy;
}

}  // namespace

std::string distribution_id(std::string_view os_release) {
  for (const std::string& line : split(os_release, '\n')) {
    if (!line.starts_with("ID=")) continue;
    std::string id = line.substr(3);
    std::erase(id, '"');
    return id;
  }
  return "";
}

int cuda_major(const HostSystem& host) {
  const auto major = parse_integer(host.driver.substr(0, host.driver.find('.')));
  return major && *major < kDriverOfCuda13 ? 12 : 13;
}

std::string driver_line(const HostSystem& host) {
  if (host.container)
    return "start the container with its GPUs (docker run --gpus all; the host needs NVIDIA's "
           "container toolkit)";
  if (host.distribution == "debian")
    return apt(host, "nvidia-driver") + " (of the sections contrib and non-free), then restart";
  if (host.distribution == "ubuntu")
    return (host.root ? "" : "sudo ") + std::string("ubuntu-drivers install, then restart");
  return "install NVIDIA's driver as your distribution has it, then restart";
}

std::string nvrtc_line(const HostSystem& host) {
  return wheels(host,
                {"'nvidia-cuda-nvrtc==13.0.*'", "'nvidia-cuda-runtime==13.0.*'",
                 "'nvidia-cuda-crt==13.0.*'", "'nvidia-cuda-cccl==13.0.*'"},
                {"nvidia-cuda-nvrtc-cu12", "nvidia-cuda-runtime-cu12", "nvidia-cuda-nvcc-cu12",
                 "nvidia-cuda-cccl-cu12"});
}

std::string cudnn_line(const HostSystem& host) {
  return wheels(host, {"nvidia-cudnn-cu13", "nvidia-cublas"},
                {"nvidia-cudnn-cu12", "nvidia-cublas-cu12"});
}

std::string cublas_line(const HostSystem& host) {
  const std::string package =
      "libcublas-" + release(host) + " (of NVIDIA's CUDA archive; a CUDA toolkit has it)";
  return has_apt(host) ? apt(host, package) : "install a CUDA toolkit, which has it";
}

std::string torch_line(const HostSystem& host) {
  const std::string line = "python3 -I -m venv " + shell_word((host.data / "torch").string()) +
                           " && " + shell_word((host.data / "torch/bin/pip").string()) +
                           " install torch numpy";
  return has_apt(host) ? apt(host, "python3-venv") + " && " + line : line;
}

std::string tool_line(std::string_view tool, const HostSystem& host) {
  if (!has_apt(host)) return "install a CUDA toolkit, which has it";
  std::string package = "cuda-" + std::string(tool);
  if (tool == "compute-sanitizer") package = "cuda-sanitizer";
  if (tool == "ncu") package = "cuda-nsight-compute";
  return apt(host,
             package + "-" + release(host) + " (of NVIDIA's CUDA archive; a CUDA toolkit has it)");
}

HostSystem look_at_host(const Settings& settings, const std::string& driver) {
  HostSystem host;
  if (const auto text = read_file("/etc/os-release")) host.distribution = distribution_id(*text);
  host.driver = driver;
  host.data = data_folders().front();
  host.container = is_container();
  host.root = geteuid() == 0;
  host.pip = has_pip(settings);
  return host;
}

std::string cuda_release(std::string_view cuda_h) {
  constexpr std::string_view kDefine = "#define CUDA_VERSION ";
  const std::size_t at = cuda_h.find(kDefine);
  if (at == std::string_view::npos) return "";
  const std::size_t begin = at + kDefine.size();
  const auto number = parse_integer(trim(cuda_h.substr(begin, cuda_h.find('\n', begin) - begin)));
  if (!number) return "";
  return fmt::format("{}.{}", *number / 1000, *number % 1000 / 10);
}

Checks compiler_checks(const Settings& settings, const HostSystem& host) {
  Checks checks;
  const auto pool = open_pool(settings, 1);
  if (pool) {
    checks.push_back({Health::kGood, kCompiler, "NVRTC",
                      pool->compiler_version() + " (" + pool->compiler_path() + ")", ""});
  } else {
    checks.push_back({Health::kBad, kCompiler, "NVRTC", pool.error().message, nvrtc_line(host)});
  }
  add_headers(pool ? pool->toolchain() : find_toolchain(settings.search),
              pool ? pool->compiler_version() : "", host, checks);
  return checks;
}

Check sandbox_check(const Confinement& here) {
  Check check{Health::kGood, kMachine, "sandbox", describe(here), ""};
  if (here.landlock > 0 && here.seccomp) return check;
  check.health = Health::kNote;
  check.remedy =
      "processes that compile and run kernels keep more of your rights than they need; Linux 5.13 "
      "and newer can take them, where neither its boot options nor a container forbid it";
  return check;
}

Checks machine_checks(const Settings& settings) {
  Checks checks;
  const unsigned cores = std::thread::hardware_concurrency();
  double load = 0;
  const bool known = getloadavg(&load, 1) == 1;
  if (const auto noise = known ? host_noise(load, cores) : std::nullopt) {
    checks.push_back({Health::kNoisy, kMachine, "processor", noise->found, noise->remedy});
  } else {
    checks.push_back(
        {Health::kGood, kMachine, "processor", fmt::format("{} cores to compile with", cores), ""});
  }
  const auto probe = settings.cache / "doctor";
  const Status made = write_below(settings.cache, "doctor", "writable\n", Access::kPrivate);
  if (made) {
    std::error_code ignored;
    std::filesystem::remove(probe, ignored);
    checks.push_back({Health::kGood, kMachine, "cache", settings.cache.string(), ""});
  } else {
    checks.push_back({Health::kNote, kMachine, "cache", made.error().message,
                      "choose a folder with --cache DIR"});
  }
  checks.push_back(sandbox_check(confinement_here()));
  std::error_code none;
  if (const auto defaults = defaults_file(); std::filesystem::exists(defaults, none))
    checks.push_back({Health::kGood, kMachine, "defaults", defaults.string(), ""});
  return checks;
}

Checks baseline_checks(const Settings& settings, const HostSystem& host) {
  Checks checks;
  const auto found = list_implementations(outside_options(settings));
  if (!found) return {{Health::kNote, kBaselines, "all", found.error().message, ""}};
  for (const Availability& each : *found) {
    const Health health = each.available ? Health::kGood : Health::kNote;
    checks.push_back(
        {health, kBaselines, each.impl, each.found, each.available ? "" : remedy_of(each, host)});
  }
  return checks;
}

Check mpi_check(const HostSystem& host) {
  constexpr const char* kName = "MPI";
  const std::filesystem::path plugin = find_mpi_plugin(mpi_plugin_places());
  if (plugin.empty()) {
    return {
        Health::kNote, kTools, kName,
        std::string(kMpiPlugin) + " is not beside fatune; it lets mpirun and srun sweep a suite",
        "build fatune with an MPI: " +
            (has_apt(host) ? apt(host, "libopenmpi-dev openmpi-bin") : "Open MPI, say")};
  }
  if (const Status opened = try_mpi_plugin(plugin); !opened)
    return {Health::kNote, kTools, kName, opened.error().message,
            "install the MPI it was built with"};
  return {Health::kGood, kTools, kName,
          plugin.string() + std::string("; with Open MPI: mpirun --bind-to none ") + kMpiRecovery +
              " outlives ranks that die",
          ""};
}

Checks tool_checks(const Settings& settings, const HostSystem& host) {
  Checks checks;
  for (const OptionalTool& tool : optional_tools()) {
    if (const auto found = find_tool(tool.name, settings)) {
      checks.push_back({Health::kGood, kTools, tool.name, found->string(), ""});
    } else {
      checks.push_back({Health::kNote, kTools, tool.name, "not found; it " + tool.purpose,
                        tool_line(tool.name, host)});
    }
  }
  checks.push_back(mpi_check(host));
  return checks;
}

}  // namespace fatune::cli
