// inputs.hpp - problem, distribution and seed to the bytes of q, k and v, on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/problem/problem.hpp"
#include "worker/protocol/input_case.hpp"

namespace fatune {

/// Elements as the problem's dtype stores them, contiguous, in the layout of Problem.
struct HostInputs {
  std::vector<std::byte> q, k, v;
};
/// The same bytes for any number of threads. `v_doublings`: v is multiplied by that power of two
/// (see the tolerance rule "vacuity").
HostInputs make_inputs(const Problem& problem, const InputCase& which, int v_doublings = 0);

/// The `draw`-th of the 65536 values that stand for N(0,1): its quantile at (draw + 1/2) / 65536.
float normal_value(std::uint16_t draw);
/// 64 random bits that depend on nothing but the three numbers.
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t position);

}  // namespace fatune
