// toolchain.hpp - finds the NVRTC library and the toolkit headers here, opening nothing.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "gpu/library.hpp"

namespace fatune {

struct Toolchain {
  /// Files, or names for the loader, to be tried in order by a compile worker.
  std::vector<std::filesystem::path> nvrtc;
  /// For kernels that include cuda_fp16.h or mma.h; empty when headers_problem says what is
  /// missing.
  std::vector<std::filesystem::path> include_folders;
  std::string headers_problem;
};

/// Where NVRTC may be: --nvrtc alone if given; else the roots, then the loader's own path, and the
/// wheels of the python3 on PATH when no root has it.
Toolchain find_toolchain(const gpu::SearchPaths& search);

/// The libnvrtc.so files of a folder, newest version first.
std::vector<std::filesystem::path> nvrtc_files(const std::filesystem::path& folder);
/// The builtins library that belongs to an NVRTC file; empty when there is none beside it.
std::filesystem::path builtins_beside(const std::filesystem::path& nvrtc);
/// SHA-256 over the headers that decide the machine code of kernels that include them.
std::string headers_identity(const Toolchain& toolchain);

}  // namespace fatune
