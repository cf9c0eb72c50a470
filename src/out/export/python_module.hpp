// python_module.hpp - exported kernels as one Python module, of the parts in this folder.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/json.hpp"
#include "out/export/exported_kernel.hpp"

namespace fatune {

/// fatune.launch/1, and what else a module wants to know of a kernel.
using FactsForPython = Json (*)(const KernelFacts& facts);

/// The text of a *.py of this folder.
std::string_view python_part(std::string_view name);

/// The parts one after the other. The first has lines for the kernels' origin, as comments that
/// name the `format` of --to, for their facts and for their machine code, by its hash.
std::string python_module(std::span<const std::string_view> parts, std::string_view format,
                          std::span<const ExportedKernel> kernels, FactsForPython facts);

}  // namespace fatune
