// c_sizes.hpp: Declares the parts of a C header that depend on run-time sizes. `@name@` is a
// placeholder for the kernel's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/wisdom/kernel_facts.hpp"

namespace fatune {

inline constexpr std::int64_t kScratchAlignment = 256;  ///< alignment that cuMemAlloc gives

/// Tells whether a launch may need scratch memory.
bool has_scratch(const KernelFacts& facts);
/// Tells whether an argument by value depends on a run-time size.
bool is_runtime_value(std::string_view argument);
/// Returns a parameter for each run-time size: "int64_t size_n".
std::vector<std::string> c_size_parameters(const KernelFacts& facts);
/// Returns these as the list of a function: "int64_t size_n, int64_t size_m", or "void".
std::string c_size_list(const KernelFacts& facts);
/// Returns the functions that the expressions call; empty without run-time sizes.
std::string c_size_helpers(const KernelFacts& facts);
/// Returns the function scratch_bytes().
std::string c_scratch_function(const KernelFacts& facts);
/// Returns the bytes in front of the scratch buffer of this index.
std::string c_scratch_offset(const KernelFacts& facts, std::size_t index);
/// Computes grid_STAGE[3], value_STAGE_ARGUMENT and bytes_SCRATCH of a launch, and returns
/// CUDA_ERROR_INVALID_VALUE where one is beyond its limits.
std::string c_check_sizes(const KernelFacts& facts);

}  // namespace fatune
