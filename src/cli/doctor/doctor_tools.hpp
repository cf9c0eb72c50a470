// doctor_tools.hpp - compiler, headers, libraries and programs on this machine to findings, and the
// lines that install what is missing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/doctor/doctor_check.hpp"
#include "cli/options/settings.hpp"

namespace fatune::cli {

/// What such a line depends on.
struct HostSystem {
  std::string distribution{};    ///< ID of os-release: "debian", "ubuntu"; empty: unknown
  std::string driver{};          ///< "580.159.04"; empty: none
  std::filesystem::path data{};  ///< fatune's own folder of data, in which it looks
  bool container = false;
  bool root = false;
  bool pip = false;  ///< `python3 -m pip` works
};

/// The value of ID in the text of /etc/os-release, without quotes.
std::string distribution_id(std::string_view os_release);
/// The CUDA release whose libraries the driver can load: 13 from 580 on, and for a driver to come.
int cuda_major(const HostSystem& host);

std::string driver_line(const HostSystem& host);
/// NVRTC with the headers that kernels include, into the data folder.
std::string nvrtc_line(const HostSystem& host);
std::string cudnn_line(const HostSystem& host);
std::string cublas_line(const HostSystem& host);
/// Into a virtual environment in the data folder, which fatune finds by itself.
std::string torch_line(const HostSystem& host);
/// A tool of the CUDA toolkit: compute-sanitizer, ncu, cuobjdump.
std::string tool_line(std::string_view tool, const HostSystem& host);

/// Asks the system what install lines depend on; `driver` is the GPU driver's version, if any.
HostSystem look_at_host(const Settings& settings, const std::string& driver);

/// "13.0" of a cuda.h that defines CUDA_VERSION 13000; empty when it does not.
std::string cuda_release(std::string_view cuda_h);

/// NVRTC, compiling a line, and the headers that kernels include.
Checks compiler_checks(const Settings& settings, const HostSystem& host);
/// Cores to compile with, and the compilation cache.
Checks machine_checks(const Settings& settings);
/// Implementations to compare with; none of them is needed to tune.
Checks baseline_checks(const Settings& settings, const HostSystem& host);
/// NVIDIA's command-line tools.
Checks tool_checks(const Settings& settings, const HostSystem& host);

}  // namespace fatune::cli
