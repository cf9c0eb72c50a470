// gemm_library.hpp - finds a matrix library in toolkits and wheels, and opens it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "gpu/library.hpp"

namespace fatune {

/// How a library is called, and what installs it.
struct GemmLibraryNames {
  std::string title;                ///< "cuBLAS"
  std::vector<std::string> files;   ///< "libcublasLt.so.13", newest first
  std::vector<std::string> wheels;  ///< folders below site-packages: "nvidia/cu13/lib"
  std::string remedy;
};

/// Existing files in toolkits, then the loader's own names, then existing files in wheels; each
/// version at all places before the next one.
std::vector<std::string> gemm_library_files(
    const GemmLibraryNames& names, const std::vector<std::filesystem::path>& cuda_roots,
    const std::vector<std::filesystem::path>& site_packages);

/// An environment error names every place tried and the remedy.
Result<gpu::Library> open_gemm_library(const GemmLibraryNames& names);

}  // namespace fatune
