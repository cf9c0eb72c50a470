// named_tensor.hpp: Defines tensors that expressions of masks and scores read by name.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"

namespace fatune {

struct Attention;
struct TensorPlan;

/// Bound of i32 elements and of their negatives, for which sums of two have 32 bits.
inline constexpr std::int64_t kMostWhole = (std::int64_t{1} << 30) - 1;
inline constexpr std::size_t kMostTensors = 8;  ///< of a problem; chosen

/// A contiguous tensor that kernels read at run time. Machine code depends on all but `runs`.
struct NamedTensor {
  enum class Type { kI32, kF32 };
  /// Neighbouring elements of one value, from the previous run's end to before `end`.
  struct Run {
    double value = 0;
    std::int64_t end = 0;
    friend auto operator<=>(const Run&, const Run&) = default;
  };
  /// A range of values, both ends included.
  struct Values {
    std::int64_t least = 0, most = 0;
  };

  std::string name = {};
  Type type = Type::kI32;
  std::vector<std::int64_t> shape = {};  ///< one to three sizes, the fastest last
  std::vector<Run> runs = {};            ///< empty: f32 values are drawn, i32 values are unknown
  friend auto operator<=>(const NamedTensor&, const NamedTensor&) = default;
  bool operator==(const NamedTensor& other) const { return (*this <=> other) == 0; }

  std::int64_t elements() const;
  double at(std::int64_t element) const;
  /// Returns the range of i32 elements `first` to `last`, which are clamped to the tensor. Unknown
  /// ones may have any value.
  Values values(std::int64_t first, std::int64_t last) const;
  void append(double value, std::int64_t count);
};

/// Returns "doc=i32[4096]:0*700,1*3396" or "table=f32[16][1023]".
std::string name(const NamedTensor& tensor);
/// Parses name(); `v*n` stands for n times v.
Result<NamedTensor> parse_named_tensor(std::string_view text);
FieldWord<NamedTensor> word_of(const NamedTensor*);
/// Returns all that machine code depends on: "doc=i32[4096]".
std::string declaration_of(const NamedTensor& tensor);
/// Parses declaration_of() or name(), and keeps no values.
Result<NamedTensor> parse_declaration(std::string_view text);

/// Returns the kernel's argument: "tensor_doc".
std::string argument_of(const NamedTensor& tensor);
bool is_named_tensor(std::string_view argument);
TensorPlan plan_of(const NamedTensor& tensor);
/// Returns the tensor of that name; null if there is none.
const NamedTensor* find_tensor(const Attention& problem, std::string_view name);

/// Returns what is wrong with the problem's tensors; empty if nothing is.
std::string named_tensors_fault(const Attention& problem);
/// Returns the tensor for a problem of other sizes. Dimensions that equal a size of `from` get that
/// size of `to`, and values are resampled. Without room for the values it is returned unchanged.
NamedTensor resized(const NamedTensor& tensor, const Attention& from, const Attention& to);
/// Leaves out tensors that no expression of the problem reads.
void drop_unread_tensors(Attention& problem);

}  // namespace fatune
