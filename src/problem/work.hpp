// work.hpp - operations and least bytes of a problem, for rates and floors.
#pragma once

#include "base/units.hpp"
#include "problem/problem.hpp"

namespace fatune {

/// 4·B·H·Sq·Skv·D, half of it for causal.
Flops flops(const Problem& problem);
/// q, k, v read once and out written once, and lse if wanted.
Bytes least_bytes(const Problem& problem);
Bytes query_bytes(const Problem& problem);  ///< of q, and of out
Bytes key_bytes(const Problem& problem);    ///< of k, and of v
Bytes lse_bytes(const Problem& problem);    ///< fp32; 0 when it is not wanted

}  // namespace fatune
