// error_regions.hpp: Measures how wrong each part of an output is.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "model/results/measurement.hpp"
#include "worker/verify/compare.hpp"

namespace fatune {

/// The regions over all heads are the whole output, its first and last kBlockRows rows, the rows
/// between, and the halves of its columns. The last region is the head with most wrong elements.
/// `out` has elements of the tensor's type.
std::vector<ErrorRegion> error_regions(const TensorReference& reference,
                                       std::span<const std::byte> out);

}  // namespace fatune
