// write_kernel_launcher.hpp - exported configs to wisdom files of kernel_launcher, 1.0.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "core/result.hpp"
#include "out/export/exported_kernel.hpp"

namespace fatune {

/// One KEY.wisdom for each kernel and what its template is compiled for besides sizes:
/// "fa_wgmma-d64-f16-causal-g4-lse" (g: query heads of a key head). A line is a config with its
/// problem size, [seq_q, seq_kv, batch * heads], its time in milliseconds and its device. Kernels
/// that were not measured have no line; the log says so. None at all is an error.
/// docs/interchange.md has the limits.
Result<std::vector<std::filesystem::path>> write_kernel_launcher(
    std::span<const ExportedKernel> kernels, const std::filesystem::path& folder);

}  // namespace fatune
