// doctor_tools.hpp - compiler, headers, libraries and programs on this machine to findings.
#pragma once

#include "cli/doctor/doctor_check.hpp"
#include "cli/doctor/install_lines.hpp"
#include "cli/options/settings.hpp"

namespace fatune::cli {

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
