// fit.cpp - problems to what of them decides the computation, and its comparison.
#include "runtime/fit.hpp"

namespace fatune::rt {
namespace {

/// All that decides what is computed, apart from the number of key heads; see fit().
struct Work {
  Mask mask = Mask::kNone;
  std::int64_t group = 1;  ///< query heads of a key head; 1 without a mask
  std::int64_t rows = 1;   ///< of each of them
  std::int64_t seq_kv = 1;
  std::int64_t head_dim = 1;
  Dtype dtype = Dtype::kF16;
  bool lse = false;
  friend bool operator==(const Work&, const Work&) = default;
};

Work work_of(const Problem& problem) {
  const std::int64_t group = problem.heads / problem.kv_heads;
  const bool masked = problem.mask == Mask::kCausal && problem.seq_q > 1;
  return {.mask = masked ? Mask::kCausal : Mask::kNone,
          .group = masked ? group : 1,
          .rows = masked ? problem.seq_q : group * problem.seq_q,
          .seq_kv = problem.seq_kv,
          .head_dim = problem.head_dim,
          .dtype = problem.dtype,
          .lse = problem.lse};
}

std::int64_t key_heads(const Problem& problem) { return problem.batch * problem.kv_heads; }

bool parts_are_aligned(const Problem& tuned) {
  const PartBytes parts = part_bytes(tuned);
  const auto aligned = [](std::int64_t bytes) {
    return static_cast<std::uint64_t>(bytes) % kTensorAlignment == 0;
  };
  return aligned(parts.query) && aligned(parts.key) && (!tuned.lse || aligned(parts.lse));
}

}  // namespace

std::optional<Fit> fit(const Problem& tuned, const Problem& wanted) {
  if (tuned == wanted) return Fit{};
  if (work_of(tuned) != work_of(wanted)) return std::nullopt;
  const std::int64_t launches = key_heads(wanted) / key_heads(tuned);
  if (launches * key_heads(tuned) != key_heads(wanted)) return std::nullopt;
  if (launches == 1) return Fit{FATUNE_RT_REGROUPED, 1};
  if (!parts_are_aligned(tuned)) return std::nullopt;
  return Fit{FATUNE_RT_REPEATED, launches};
}

PartBytes part_bytes(const Problem& tuned) {
  const std::int64_t element = size_of(tuned.dtype);
  return {.query = tuned.query_elements() * element,
          .key = tuned.key_elements() * element,
          .lse = tuned.rows() * std::int64_t{sizeof(float)}};
}

}  // namespace fatune::rt
