// scores.hpp: Declares the check of what a problem asks of its scores.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"

namespace fatune {

struct Attention;

/// Returns what is wrong with scale, softcap, expression or optional tensors; empty if nothing is.
std::string scores_fault(const Attention& problem);
/// Sets Attention::score from an expression, unless it is empty. X * tanh(score / X) becomes the
/// softcap.
Status set_score(Attention& problem, std::string_view text);

}  // namespace fatune
