// install_lines.cpp - apt for what a distribution has, pip for what NVIDIA publishes as wheels.
//
// pip writes into fatune's own folder (--target): a system's Python refuses packages from outside
// on Debian 12 and Ubuntu 24.04, and nothing else needs these.
#include "cli/doctor/install_lines.hpp"

#include "core/text.hpp"

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
  const std::string line =
      "python3 -m pip install --no-deps --target " + (host.data / "cuda").string() + " " + packages;
  if (host.pip || !has_apt(host)) return line;
  return apt(host, "python3-pip") + " && " + line;
}

std::string wheels(const HostSystem& host, std::vector<std::string> cuda_13,
                   std::vector<std::string> cuda_12) {
  return pip(host, join(cuda_major(host) >= 13 ? cuda_13 : cuda_12, " "));
}

/// Packages of NVIDIA's own archive are named after the release: cuda-sanitizer-13-0.
std::string release(const HostSystem& host) { return cuda_major(host) >= 13 ? "13-0" : "12-9"; }

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
  const std::string folder = (host.data / "torch").string();
  const std::string line =
      "python3 -m venv " + folder + " && " + folder + "/bin/pip install torch numpy";
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

}  // namespace fatune::cli
