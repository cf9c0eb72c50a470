// quantize.hpp: Quantizes 16-bit q, k and v to fp8 elements and their descale factors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/parallel.hpp"
#include "model/problem/dtype.hpp"
#include "model/problem/input_case.hpp"
#include "model/problem/problem.hpp"
#include "worker/verify/inputs.hpp"

namespace fatune {

/// Adds N(0,64) times `magnitude` to the columns of key head `head` (counted over the batch),
/// except for zeros.
void offset_keys(const Attention& problem, const InputCase& which, std::size_t head,
                 float magnitude, std::vector<std::byte>& k);

/// Returns the mean over keys, (batch, kv_heads, head_dim).
std::vector<float> key_means(const Attention& problem, const HostInputs& inputs);

/// Adds to `lse`, fp32 and one per row, the part that centring the keys removes: the scaled product
/// of q and the mean key.
void add_mean_scores(const Attention& problem, const HostInputs& inputs, std::span<std::byte> lse);

/// Sets element i of `to` to value(element i of `from`), rounded to `to_type`. Both may be one
/// span. `To` has the width of `to_type`. For many elements the function is called once for each of
/// the 65,536 values.
template <typename To, typename Value>
void recode(std::span<const std::uint16_t> from, Dtype from_type, std::span<To> to, Dtype to_type,
            const Value& value) {
  constexpr std::size_t kKinds = 0x10000, kOfAThread = 0x4000;
  const std::span<const float> values = decode_table(from_type);
  const auto compute = [&](std::size_t kind) {
    return static_cast<To>(encode(to_type, value(values[kind])));
  };
  const auto fill = [&](std::span<To> all, const auto& element) {
    parallel_for(all.size(), kOfAThread, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) all[i] = element(i);
    });
  };
  if (from.size() <= kKinds) return fill(to, [&](std::size_t i) { return compute(from[i]); });
  std::vector<To> table(kKinds);
  fill(std::span<To>(table), compute);
  fill(to, [&](std::size_t i) { return table[from[i]]; });
}

/// Quantizes the inputs of unquantized(problem), all finite, to the type of `problem`. Each key
/// head, or each block of its tokens, has a factor: the largest magnitude over the type's largest
/// number. The factor is 1 if all elements are 0. A query head uses the factor of its key head,
/// shared with its group. For smooth_k, k is quantized without its mean over keys.
HostInputs quantize(const Attention& problem, const HostInputs& inputs);

}  // namespace fatune
