// inputs.hpp: Makes inputs from a seed, the same on every machine, and lays them out in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/problem/input_case.hpp"
#include "model/problem/tensor.hpp"
#include "worker/verify/guarded_buffer.hpp"

namespace fatune {

/// The elements of an input, in order.
struct HostTensor {
  std::string name;
  std::vector<std::byte> bytes;
};

/// The inputs of attention, with elements of the problem's dtype, contiguous whatever the layout.
struct HostInputs {
  std::vector<std::byte> q, k, v;
  /// Factors of fp8, (batch, kv_heads).
  std::vector<float> q_descale = {}, k_descale = {}, v_descale = {};
  /// The optional tensors that the problem has, each in its shape.
  std::vector<HostTensor> optional = {};
  /// The elements of an optional tensor that the problem has.
  const std::vector<std::byte>& of(std::string_view name) const;
};
/// Makes the inputs; the bytes do not depend on the number of threads. The values of v are
/// multiplied by 2 to the power `v_doublings` (see the tolerance rule "vacuity"). Inputs in fp8 are
/// quantize() of the inputs of unquantized(). Their heads, and blocks of tokens with factors,
/// differ in magnitude, so that a wrong factor gives wrong values.
HostInputs make_inputs(const Attention& problem, const InputCase& which, int v_doublings = 0);

/// Returns the optional tensors. Slopes are those of the ALiBi paper, four times as steep in
/// outliers. Sinks are N(4,1), but in uniform inputs far above the scores and far
/// below them in turn, and far below where outputs are 1 or means.
std::vector<HostTensor> optional_inputs(const Attention& problem, const InputCase& which);

/// Returns the inputs of unquantized(problem): the source of make_inputs()'s quantization, and the
/// inputs of a fused problem. For smooth_k the keys of a head share an offset that is larger than
/// their differences.
HostInputs unquantized_inputs(const Attention& problem, const InputCase& which,
                              int v_doublings = 0);

/// fp8 inputs with |v| in place of v.
HostInputs with_magnitudes_of_v(HostInputs inputs);

/// The inputs of a custom operation. The distribution changes inputs whose values are drawn.
/// `normal` leaves them as declared. `uniform` draws from U[-1,1] instead. `outliers` adds N(0,100)
/// to one draw in 1024. `zeros` draws zeros. Others count as normal. Integers stay as declared, but
/// `zeros` gives the value nearest to 0. Elements of a file are the same for every seed and
/// distribution. The bytes do not depend on the number of threads.
std::vector<HostTensor> declared_inputs(const OperationPlan& plan, const InputCase& which);

/// Returns elements of integers or bool that are drawn from the random bits of `stream`.
std::vector<std::byte> whole_elements(const TensorPlan& tensor, const Fill& fill,
                                      std::uint64_t seed, std::uint64_t stream);

/// The inputs of attention or of a custom operation. Only attention's v can be doubled.
std::vector<HostTensor> input_tensors(const Problem& problem, const OperationPlan& plan,
                                      const InputCase& which, int v_doublings = 0);

/// The inputs of attention in the order of its plan, and back.
std::vector<HostTensor> host_tensors(HostInputs inputs);
HostInputs host_inputs(std::vector<HostTensor> tensors);
/// Reads fp32 values from memory.
std::vector<float> floats_of(std::span<const std::byte> bytes);

/// The contents of a buffer of `plans`: the rows of its tensors in their places, and NaN between
/// them. A view of `tensors`, or of `room`, which is filled if a tensor is not contiguous.
std::span<const std::byte> memory_of(const BufferPlan& buffer, const std::vector<TensorPlan>& plans,
                                     const std::vector<HostTensor>& tensors,
                                     std::vector<std::byte>& room);
/// Inputs in guarded memory, in the order of buffers_of(plans).
Result<std::vector<GuardedBuffer>> upload_inputs(const gpu::Context& context, CUstream stream,
                                                 const std::vector<TensorPlan>& plans,
                                                 const std::vector<HostTensor>& tensors);
/// Copies the elements in order from memory that holds the tensor alone.
void gather_rows(const TensorPlan& tensor, std::span<const std::byte> memory,
                 std::span<std::byte> elements);

/// Returns the factor of queries that keeps the size of scores where a problem has a softmax scale
/// of its own, as far as the type has such queries and fp32 their products.
double unit_of_queries(const Attention& problem);
inline constexpr std::size_t kDraws = 65536;
/// exp(-x) for x >= 0 by arithmetic alone: the library's differs between machines in the last bit.
double exp_minus(double x);
/// The `draw`-th of the kDraws values that stand for N(0,1): its quantile at (draw + 1/2) / kDraws.
float normal_value(std::uint16_t draw);
/// 64 random bits that depend on nothing but the three numbers.
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t position);

/// The bytes must come from an allocator, which aligns them for any element.
template <typename Element>
std::span<Element> elements(std::vector<std::byte>& bytes) {
  return {reinterpret_cast<Element*>(bytes.data()), bytes.size() / sizeof(Element)};
}
template <typename Element>
std::span<const Element> elements(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const Element*>(bytes.data()), bytes.size() / sizeof(Element)};
}

}  // namespace fatune
