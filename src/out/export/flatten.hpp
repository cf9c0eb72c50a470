// flatten.hpp - a template, its headers and a config to one CUDA file that compiles by itself.
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/kernel.hpp"

namespace fatune {

/// `macros` ("BLOCK_M=128") become definitions at the top; project headers stand where they are
/// included, those with #pragma once the first time only. Headers of the toolkit stay includes. A
/// header that includes itself without #pragma once is a file error.
Result<std::string> flatten(const Kernel& kernel, const std::vector<std::string>& macros);

}  // namespace fatune
