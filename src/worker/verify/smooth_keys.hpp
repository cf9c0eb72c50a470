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

/// Adds to each column of key head `head`, counted over the batch, N(0,64) times `magnitude`; zeros
/// stay zeros.
void offset_keys(const Problem& problem, const InputCase& which, std::size_t head, float magnitude,
                 std::vector<std::byte>& k);

/// Returns the mean over keys, (batch, kv_heads, head_dim).
std::vector<float> key_means(const Problem& problem, const HostInputs& inputs);

/// Returns the term that log-sum-exps lack if keys have lost their mean: the scaled product of q
/// and the mean. `lse`: fp32, one per row.
void add_mean_scores(const Problem& problem, const HostInputs& inputs, std::span<std::byte> lse);

}  // namespace fatune
