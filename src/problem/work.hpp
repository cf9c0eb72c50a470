// work.hpp - operations and least bytes of a problem, for rates and floors.
#pragma once

#include "base/units.hpp"
#include "problem/problem.hpp"

namespace fatune {

/// 4·B·H·Sq·Skv·D, half of it for causal.
Flops flops(const Problem& problem);
/// q, k, v read once and out written once.
Bytes least_bytes(const Problem& problem);
Bytes query_bytes(const Problem& problem);  ///< of q, and of out
Bytes key_bytes(const Problem& problem);    ///< of k, and of v

}  // namespace fatune
