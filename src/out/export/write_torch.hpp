// write_torch.hpp - exported kernels to one Python file with PyTorch's attention as its fallback.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "out/export/exported_kernel.hpp"

namespace fatune {

/// The file's text: torch_problem.py, torch_launch.py, torch_operator.py and torch_check.py of this
/// folder, one after the other, with the kernels' facts and machine code. A usage error when a
/// kernel's element type is none that PyTorch's attention takes.
Result<std::string> torch_module(std::span<const ExportedKernel> kernels);
/// Writes `target` if it ends in .py, else sdpa.py in the folder `target`. Returns that file.
Result<std::vector<std::filesystem::path>> write_torch(std::span<const ExportedKernel> kernels,
                                                       const std::filesystem::path& target);

}  // namespace fatune
