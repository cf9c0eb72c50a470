// scores.hpp: Declares the check of what a problem asks of its scores.
#pragma once

#include <string>

namespace fatune {

struct Attention;

/// Returns what is wrong with scale, softcap or optional tensors; empty if nothing is.
std::string scores_fault(const Attention& problem);

}  // namespace fatune
