// choice.hpp - a problem, a device and stored kernels to the kernel that may serve it, and in how
// many launches.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "model/problem/problem.hpp"
#include "model/wisdom/kernel_facts.hpp"
#include "runtime/outcome.hpp"

namespace fatune::rt {

struct Fit {
  fatune_rt_fit kind = FATUNE_RT_EXACT;
  std::int64_t launches = 1;  ///< the i-th of them on the i-th part of each tensor
};

/// The layouts of the same memory by name: strides that a word has become the word, and a stride
/// that is never stepped, over the only head say, that of head_dim.
Problem with_named_layouts(Problem problem);

/// Nothing when the kernel would compute something else, or touch other memory.
///
/// Why what is left is safe. Tensors that are not contiguous must lie as the kernel's do, in the
/// very problem. Contiguous ones need not: head (b, h) of q is block b * heads + h of
/// seq_q * head_dim elements, and of k and v block b * kv_heads + h / group of seq_kv * head_dim,
/// group being heads / kv_heads. As h < heads, that is block (b * heads + h) / group: only the
/// number of key heads, batch * kv_heads, and the group matter, not how batch and heads make them
/// up. out and lse are laid out as q is. Each head is computed by itself, from these blocks alone.
///
/// Without a mask each row of q is computed by itself, too. The group * seq_q rows that read one
/// key head follow each other in q, out and lse, so only their number matters. A causal mask on a
/// single query hides nothing: its row sees keys up to 0 + seq_kv - 1.
///
/// A kernel whose number of key heads is an n-th of the problem's computes the i-th n-th of it from
/// the i-th n-th of each tensor: parts are whole blocks, one after the other. Their first elements
/// must be aligned as kernels expect of a tensor.
std::optional<Fit> fit(Problem tuned, Problem wanted);

/// Kernels read and write 16 bytes at once, and tensor maps demand it. Bytes.
constexpr std::uint64_t kTensorAlignment = 16;

/// Bytes from the i-th to the next part of q and out, of k and v, and of lse.
struct PartBytes {
  std::int64_t query = 0;
  std::int64_t key = 0;
  std::int64_t lse = 0;
};
PartBytes part_bytes(const Problem& tuned);

struct DeviceFacts {
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  /// Of shared memory, that a block may ask for: devices of one generation differ.
  int most_shared_bytes = std::numeric_limits<int>::max();
};

/// What is asked for.
struct Wish {
  Problem problem;
  double scale = 0;
  std::int64_t max_launches = 1;
  bool unverified = false;  ///< kernels that passed no gates may be chosen, too
};

struct StoredKernel {
  KernelFacts facts;
  std::string cubin;
};

struct Choice {
  std::size_t kernel = 0;
  Fit fit;
};

/// The fewest launches win, then the exact problem, then the fastest as measured. Without one:
/// OTHER_DEVICE when only the device's generation or its shared memory is in the way, else
/// NO_KERNEL, with the reason.
Outcome<Choice> choose(std::span<const StoredKernel> kernels, const Wish& wish,
                       const DeviceFacts& device);

/// The kernel tuned for the problem most like this one, of its element type; nothing when there is
/// none. Mask and head_dim weigh most, then lengths, then heads.
std::optional<std::size_t> nearest(std::span<const StoredKernel> kernels, const Problem& problem);

}  // namespace fatune::rt
