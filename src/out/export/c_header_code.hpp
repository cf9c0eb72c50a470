// c_header_code.hpp - launch facts to the C functions of a header; private to export/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/wisdom/kernel_facts.hpp"

namespace fatune {

/// Helpers, load, unload and launch. `@name@` stands for the kernel's name.
std::string c_functions(const KernelFacts& facts);
/// Names of the launch's parameters: q, k, v, out, lse, or "d_" and a declared tensor's name, which
/// may be a word of C.
std::vector<std::string> tensor_parameters(const KernelFacts& facts);
/// Of all scratch buffers of a launch in one piece, each on 256 bytes.
std::int64_t scratch_bytes(const KernelFacts& facts);

}  // namespace fatune
