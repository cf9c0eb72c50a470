// inputs.hpp - problem, distribution and seed to the bytes of the inputs, on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/problem/input_case.hpp"
#include "model/problem/tensor.hpp"

namespace fatune {

/// An input as it goes to the device.
struct HostTensor {
  std::string name;
  std::vector<std::byte> bytes;
};

/// Attention's, with elements as the problem's dtype stores them, contiguous, in the layout of
/// Problem.
struct HostInputs {
  std::vector<std::byte> q, k, v;
};
/// The same bytes for any number of threads. `v_doublings`: v is multiplied by that power of two
/// (see the tolerance rule "vacuity").
HostInputs make_inputs(const Problem& problem, const InputCase& which, int v_doublings = 0);

/// The inputs of a custom operation. The distribution changes those whose values are drawn: normal
/// leaves them as declared, uniform draws from U[-1,1] instead, outliers adds N(0,100) to one draw
/// in 1024, and zeros draws nothing but zeros; others count as normal. The same bytes for any
/// number of threads.
std::vector<HostTensor> declared_inputs(const OperationPlan& plan, const InputCase& which);

/// The one or the other; only attention's v can be doubled.
std::vector<HostTensor> input_tensors(const Problem& problem, const OperationPlan& plan,
                                      const InputCase& which, int v_doublings = 0);

/// The `draw`-th of the 65536 values that stand for N(0,1): its quantile at (draw + 1/2) / 65536.
float normal_value(std::uint16_t draw);
/// 64 random bits that depend on nothing but the three numbers.
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t position);

}  // namespace fatune
