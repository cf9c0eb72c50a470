// work.hpp - operations and least bytes of a problem, for rates and floors.
#pragma once

#include "core/units.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

/// 4·B·H·Sq·Skv·D, half of it for causal; for a custom operation what it declares.
Flops flops(const Problem& problem);
/// Inputs read once and outputs written once: q, k, v, out, and lse if wanted.
Bytes least_bytes(const Problem& problem);
/// Whether the flops are known: attention, and operations that declare them.
bool counts_flops(const Problem& problem);
/// Rate of the least bytes.
double gigabytes_per_second(const Problem& problem, Seconds time);
/// These three are for attention only.
Bytes query_bytes(const Problem& problem);  ///< of q, and of out
Bytes key_bytes(const Problem& problem);    ///< of k, and of v
Bytes lse_bytes(const Problem& problem);    ///< fp32; 0 when it is not wanted

}  // namespace fatune
