// quantize.hpp: Quantizes 16-bit q, k and v to fp8 elements and their descale factors.
#pragma once

#include "model/problem/problem.hpp"
#include "worker/verify/inputs.hpp"

namespace fatune {

/// The inputs of unquantized(problem), all finite, in the type of `problem`. A factor is that of a
/// key head, or of a block of its tokens: the largest magnitude over the largest number of the
/// type, so that it becomes that number; 1 where all are 0. A query head has the factor of the key
/// head that it reads, shared with the others of its group. Of smooth_k k goes without its mean
/// over keys.
HostInputs quantize(const Problem& problem, const HostInputs& inputs);

}  // namespace fatune
