// choice.hpp: Chooses the stored kernel and the number of launches for a problem and a device.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "core/result.hpp"
#include "model/problem/problem.hpp"
#include "model/wisdom/kernel_facts.hpp"
#include "runtime/fatune_rt.h"

namespace fatune::rt {

struct Failure {
  fatune_rt_status status = FATUNE_RT_BAD_ARGUMENT;
  std::string message;
  std::int32_t driver_code = 0;  ///< a CUresult; 0 if no driver call failed
};

/// Converts errors of files and arguments.
inline Failure failure_of(Error error) {
  const bool file = error.kind == ErrorKind::kFile;
  return {file ? FATUNE_RT_BAD_FILE : FATUNE_RT_BAD_ARGUMENT, std::move(error.message)};
}

/// Like Result with the C interface's failures. FATUNE_TRY works with it and converts a Result.
template <typename T>
class [[nodiscard]] Outcome {
 public:
  // The constructors are implicit by design.
  Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Outcome(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}
  Outcome(Error error) : Outcome(failure_of(std::move(error))) {}

  explicit operator bool() const noexcept { return state_.index() == 0; }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  const Failure& error() const& { return std::get<1>(state_); }
  Failure&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Failure> state_;
};

/// The value of an operation without result; FATUNE_TRY_STATUS works with Outcome<Done>.
struct Done {};

struct Fit {
  fatune_rt_fit kind = FATUNE_RT_EXACT;
  std::int64_t launches = 1;  ///< launch i computes part i of each tensor
};

/// Names layouts: strides of a named layout become the name. The stride of a dimension of size 1
/// becomes head_dim.
Attention with_named_layouts(Attention problem);

/// Returns how a kernel tuned for one problem serves another; empty if it would compute something
/// else or touch other memory.
///
/// Tensors that are not contiguous must have the kernel's layout and its very problem, and so must
/// problems with optional tensors or expressions, which know batch entry, head and row. Numbers of
/// lengths and values of named tensors may differ, since kernels read them at run time.
///
/// In contiguous tensors, head (b, h) of q is block b * heads + h of seq_q * head_dim elements. In
/// k and v it is block b * kv_heads + h / group of seq_kv * head_dim, where group = heads /
/// kv_heads. As h < heads, the block is (b * heads + h) / group. So only the number of key heads,
/// batch * kv_heads, and the group matter. out and lse have q's order. Each head is computed from
/// these blocks alone.
///
/// Without a mask each row of q is independent, too. The group * seq_q rows that read one key head
/// are adjacent in q, out and lse, so only their number matters. A causal mask on a single query
/// hides nothing: its row sees keys up to 0 + seq_kv - 1.
///
/// A kernel with an n-th of the problem's key heads computes it in n launches: launch i computes
/// the i-th n-th of each tensor. Parts are whole adjacent blocks, and their first elements must be
/// aligned as kernels expect of a tensor.
std::optional<Fit> fit(Attention tuned, Attention wanted);

/// Bytes; kernels read and write 16 bytes at once, and tensor maps require this alignment.
constexpr std::uint64_t kTensorAlignment = 16;

/// Bytes between neighbouring parts of each tensor.
struct PartBytes {
  std::int64_t q = 0, k = 0, v = 0, out = 0, lse = 0;
};
PartBytes part_bytes(const Attention& tuned);

struct DeviceFacts {
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  /// Shared memory that a block may request; devices of one generation differ.
  int most_shared_bytes = std::numeric_limits<int>::max();
};

/// A request for a kernel.
struct Wish {
  Attention problem;
  double scale = 0;
  std::int64_t max_launches = 1;
  bool unverified = false;  ///< kernels that passed no gates may be chosen
};

struct StoredKernel {
  KernelFacts facts;
  std::string cubin;
  std::string mask = {}, bias = {}, tensors = {};  ///< texts of fatune_rt_problem; empty: none
};

struct Choice {
  std::size_t kernel = 0;
  Fit fit;
};

/// Prefers the fewest launches, then the exact problem, then the fastest measured kernel. The
/// failure is OTHER_DEVICE if only the device's generation or shared memory rules a kernel out,
/// else NO_KERNEL. It has the reason.
Outcome<Choice> choose(std::span<const StoredKernel> kernels, const Wish& wish,
                       const DeviceFacts& device);

/// Returns the kernel tuned for the most similar problem of the element type; empty if there is
/// none. Mask and head_dim weigh most, then lengths, then heads.
std::optional<std::size_t> nearest(std::span<const StoredKernel> kernels, const Attention& wanted);

}  // namespace fatune::rt
