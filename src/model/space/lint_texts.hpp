// lint_texts.hpp: Lists the expressions of a manifest in which the lint looks for names.
#pragma once

#include <string>
#include <vector>

#include "model/kernel/manifest.hpp"

namespace fatune {

/// Returns the expressions, as written, that shape launches and tensor-map boxes.
std::vector<std::string> launch_texts(const Manifest& manifest);
/// Returns the expressions and types of library products: a parameter may choose an algorithm or a
/// type and not appear in the text.
std::vector<std::string> gemm_texts(const Manifest& manifest);

}  // namespace fatune
