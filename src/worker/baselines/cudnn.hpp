// cudnn.hpp - cuDNN's fused attention as an executable; the library is opened at run time.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "core/result.hpp"
#include "worker/baselines/cudnn_api.hpp"
#include "worker/baselines/executable.hpp"
#include "worker/baselines/outside.hpp"

namespace fatune {

/// Which of cuDNN's plans: the first that its heuristic names, or the fastest of all that it
/// offers.
enum class CudnnPlan { kHeuristic, kFastest };

/// An environment error names every place tried and what installs the library.
Result<std::unique_ptr<Executable>> open_cudnn(
    const OutsideSetting& setting, CudnnPlan plan,
    const std::vector<std::filesystem::path>& library_folders);
/// The same with the library opened; its functions must outlive the executable.
Result<std::unique_ptr<Executable>> open_cudnn_with(const CudnnFunctions& functions,
                                                    const OutsideSetting& setting, CudnnPlan plan);

}  // namespace fatune
