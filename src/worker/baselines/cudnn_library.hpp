// cudnn_library.hpp - finds and opens libcudnn.so.9, from wheels or the system.
#pragma once

#include <filesystem>
#include <vector>

#include "core/result.hpp"
#include "worker/baselines/cudnn_api.hpp"

namespace fatune {

/// In order: the folders given (each as it is, as a site-packages folder, or with lib below it),
/// the wheels of the python3 on PATH, the loader's own path.
std::vector<std::filesystem::path> cudnn_files(
    const std::vector<std::filesystem::path>& folders,
    const std::vector<std::filesystem::path>& site_packages);

/// An environment error names every place tried and what installs the library.
Result<CudnnFunctions> open_cudnn_library(const std::vector<std::filesystem::path>& folders);

}  // namespace fatune
