// python_module.hpp: Joins exported kernels and parts of this folder into one Python module.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/json.hpp"
#include "out/export/exported_kernel.hpp"

namespace fatune {

/// Returns fatune.launch/1 with further fields that a module needs.
using FactsForPython = Json (*)(const KernelFacts& facts);

/// Joins the parts in their order. The first part has a line for each of: comments with the
/// kernels' origin, their facts, and their machine code by its hash.
std::string python_module(std::span<const std::string_view> parts,
                          std::span<const ExportedKernel> kernels, FactsForPython facts);

}  // namespace fatune
