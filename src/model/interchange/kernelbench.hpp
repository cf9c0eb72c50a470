// kernelbench.hpp - a problem file of KernelBench, read as text, to the attention that it states.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "model/problem/suite.hpp"

namespace fatune {

/// A class Model whose forward() is attention (reference.hpp), without weights, and get_inputs()
/// for the sizes. KernelBench casts a problem to the precision that it is run in; `dtype` ("f16")
/// is that, and may be empty where the file says one that kernels have. `where` names the problem,
/// too: the stem of that path.
Result<Suite> parse_kernelbench(std::string_view text, const std::string& dtype,
                                const std::string& where);

}  // namespace fatune
