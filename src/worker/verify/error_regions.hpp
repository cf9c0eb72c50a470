// error_regions.hpp - an output that is wrong to how wrong each part of it is.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "model/results/error_region.hpp"
#include "worker/verify/compare.hpp"

namespace fatune {

/// Of all heads together: the whole output, its first and last kBlockRows rows and those between,
/// the halves of its columns; then the head with most wrong elements. `out`: elements of the
/// tensor's type.
std::vector<ErrorRegion> error_regions(const TensorReference& reference,
                                       std::span<const std::byte> out);

}  // namespace fatune
