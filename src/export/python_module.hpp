// python_module.hpp: Joins exported kernels and parts of this folder into one Python module.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/json.hpp"
#include "export/exported_kernel.hpp"

namespace fatune {

/// Returns fatune.launch/1 with further fields that a module needs.
using FactsForPython = Json (*)(const KernelFacts& facts);

/// Joins the parts in the given order. The first part has one marked line each for the kernels'
/// origin, their facts, and their machine code by hash.
std::string python_module(std::span<const std::string_view> parts,
                          std::span<const ExportedKernel> kernels, FactsForPython facts);

}  // namespace fatune
