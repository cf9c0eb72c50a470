// smooth_keys.hpp: Computes the offset of a head's keys (--quant smooth_k) and its part in
// log-sum-exps. Inputs are 16-bit and contiguous.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "model/problem/input_case.hpp"
#include "model/problem/problem.hpp"
#include "worker/verify/inputs.hpp"

namespace fatune {

/// Adds N(0,64) times `magnitude` to the columns of key head `head` (counted over the batch),
/// except for zeros.
void offset_keys(const Problem& problem, const InputCase& which, std::size_t head, float magnitude,
                 std::vector<std::byte>& k);

/// Returns the mean over keys, (batch, kv_heads, head_dim).
std::vector<float> key_means(const Problem& problem, const HostInputs& inputs);

/// Adds to `lse`, fp32 and one per row, the part that centring the keys removes: the scaled product
/// of q and the mean key.
void add_mean_scores(const Problem& problem, const HostInputs& inputs, std::span<std::byte> lse);

}  // namespace fatune
