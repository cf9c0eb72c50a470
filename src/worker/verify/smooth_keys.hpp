// smooth_keys.hpp: Computes the offset that a head's keys share, for --quant smooth_k. The offset
// has a mean, and the mean adds a term to every log-sum-exp. Inputs are 16-bit and contiguous.
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
