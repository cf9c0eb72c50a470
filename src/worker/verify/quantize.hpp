// quantize.hpp: Quantizes 16-bit q, k and v to fp8 elements and their descale factors.
#pragma once

#include "model/problem/problem.hpp"
#include "worker/verify/inputs.hpp"

namespace fatune {

/// Quantizes the inputs of unquantized(problem), all finite, to the type of `problem`. Each key
/// head, or each block of its tokens, has a factor: the largest magnitude over the type's largest
/// number. The factor is 1 if all elements are 0. A query head uses the factor of its key head,
/// shared with its group. For smooth_k, k is quantized without its mean over keys.
HostInputs quantize(const Problem& problem, const HostInputs& inputs);

}  // namespace fatune
