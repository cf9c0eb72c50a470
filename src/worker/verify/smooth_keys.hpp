// smooth_keys.hpp - what the keys of a head share (--quant smooth_k): offsets of inputs, their
// mean, and its part in log-sum-exps. Inputs are of 16 bits, contiguous.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "model/problem/input_case.hpp"
#include "model/problem/problem.hpp"
#include "worker/verify/inputs.hpp"

namespace fatune {

/// Adds to each column of key head `head`, counted over the batch, N(0,64) times `magnitude`;
/// nothing to zeros.
void offset_keys(const Problem& problem, const InputCase& which, std::size_t head, float magnitude,
                 std::vector<std::byte>& k);

/// (batch, kv_heads, head_dim): the mean over keys.
std::vector<float> key_means(const Problem& problem, const HostInputs& inputs);

/// What log-sum-exps of keys without their mean lack: the scaled product of q and the mean. `lse`:
/// fp32, one a row.
void add_mean_scores(const Problem& problem, const HostInputs& inputs, std::span<std::byte> lse);

}  // namespace fatune
