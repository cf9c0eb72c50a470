// bias.hpp: Defines a tensor that is added to the scores, or hides keys.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "model/problem/dtype.hpp"

namespace fatune {

struct Attention;

/// Type of a bias: that of q, fp32, or one byte that is 0 where a key is hidden.
enum class BiasType { kInput, kF32, kBool };
std::string_view name(BiasType type);  ///< "input", "f32", "bool"

/// A lower number hides its key, as -infinity does. Divided by any usual softmax scale it is below
/// the row_max of a row that has seen no key, -2^100 (kernels/common/mma_softmax.cuh).
inline constexpr double kHidingBias = -1e29;

/// A tensor (batch, heads, seq_q, seq_kv), added to scores that have their scale and cap. The first
/// three sizes may be 1, which then stands for all. Strides are in elements, 0 for such a size.
struct Bias {
  std::array<std::int64_t, 4> shape = {1, 1, 1, 1};
  std::array<std::int64_t, 4> strides = {0, 0, 0, 1};
  BiasType type = BiasType::kInput;
  friend auto operator<=>(const Bias&, const Bias&) = default;

  std::int64_t elements() const { return shape[0] * shape[1] * shape[2] * shape[3]; }
  /// From the first element in memory to the last.
  std::int64_t span() const;
};

/// "1,16,512,512", "32,1,1,128:bool", "1,16,512,512:f32@0:1:8192:16" with strides.
std::string name(const Bias& bias);
/// Returns name() in the spelling for file names.
std::string slug(const Bias& bias);
/// Parses name(). Without strides the tensor is contiguous.
Result<Bias> parse_bias(std::string_view text);
FieldWord<Bias> word_of(const Bias*);

/// Returns what is wrong with the bias of the problem; empty if nothing is.
std::string bias_fault(const Attention& problem);
/// Returns the bias of a problem of other sizes: dimensions keep their order in memory.
Bias resized(const Bias& bias, const Attention& from, const Attention& to);
Bias contiguous(const Bias& bias);  ///< of the same shape
/// Returns the bytes, at most 16, that divide the distance of any two rows; 0 if keys are no
/// neighbours.
std::int64_t row_alignment(const Bias& bias, Dtype input);
/// Type of the elements; none: fp32. A bool is a byte, as e4m3 is.
std::optional<Dtype> dtype_of(const Bias& bias, Dtype input);

}  // namespace fatune
