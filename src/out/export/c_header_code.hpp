// c_header_code.hpp - launch facts to the C functions of a header; private to export/.
#pragma once

#include <string>

#include "model/wisdom/kernel_facts.hpp"

namespace fatune {

/// Helpers, load, unload and launch. `@name@` stands for the kernel's name.
std::string c_functions(const KernelFacts& facts);
/// Of all scratch buffers of a launch in one piece, each on 256 bytes.
std::int64_t scratch_bytes(const KernelFacts& facts);

}  // namespace fatune
