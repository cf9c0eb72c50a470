// install_lines.hpp - what is missing to the line that installs it on this system.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace fatune::cli
