// write_files.hpp - exported kernels to files of their own: machine code, source, config.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "core/result.hpp"
#include "out/export/exported_kernel.hpp"

namespace fatune {

/// NAME.cubin and NAME.json (fatune.launch/1) of each kernel.
Result<std::vector<std::filesystem::path>> write_cubin(std::span<const ExportedKernel> kernels,
                                                       const std::filesystem::path& folder);
/// NAME.cu of each kernel, which compiles by itself.
Result<std::vector<std::filesystem::path>> write_source(std::span<const ExportedKernel> kernels,
                                                        const std::filesystem::path& folder);
/// NAME.h of each kernel: see c_header().
Result<std::vector<std::filesystem::path>> write_header(std::span<const ExportedKernel> kernels,
                                                        const std::filesystem::path& folder);
/// NAME.config.json of each kernel, as --config takes it.
Result<std::vector<std::filesystem::path>> write_config(std::span<const ExportedKernel> kernels,
                                                        const std::filesystem::path& folder);

}  // namespace fatune
