// problem.hpp - what is to be computed: attention sizes, element type, mask and outputs, or the
// sizes of a custom operation.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "model/problem/dtype.hpp"
#include "model/problem/own_problem.hpp"

namespace fatune {

enum class Mask { kNone, kCausal };
std::string_view name(Mask mask);  ///< "none", "causal"
Result<Mask> parse_mask(std::string_view text);
FieldWord<Mask> word_of(const Mask*);

/// q and out are (batch, heads, seq_q, head_dim); k and v are (batch, kv_heads, seq_kv, head_dim),
/// contiguous. Causal is aligned bottom-right: query i sees key j when j <= i + seq_kv - seq_q.
struct Problem {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t seq_q = 1;
  std::int64_t seq_kv = 1;
  std::int64_t head_dim = 64;
  Dtype dtype = Dtype::kF16;
  Mask mask = Mask::kNone;
  bool lse = false;  ///< also wanted: the log-sum-exp of each row, fp32, (batch, heads, seq_q)
  /// Set for a custom operation (decision 0016); then only dtype of the members above counts.
  std::optional<OwnProblem> own = std::nullopt;

  friend auto operator<=>(const Problem&, const Problem&) = default;
  std::int64_t query_elements() const { return batch * heads * seq_q * head_dim; }
  std::int64_t key_elements() const { return batch * kv_heads * seq_kv * head_dim; }
  std::int64_t rows() const { return batch * heads * seq_q; }  ///< of q and out
};

/// "4,8,512,64" as batch, heads, seq, head_dim; seq_kv and kv_heads follow. Errors name where the
/// text came from and the part that is wrong: "--shape 4,8,0,64: seq must be at least 1 (third
/// part)".
Result<Problem> parse_shape(std::string_view text, std::string_view where = "--shape");
/// Positive sizes within limits (each <= 2^31-1, tensors <= 2^40 bytes), kv_heads divides heads.
Status validate(const Problem& problem);
/// "4,8,512,64 f16", "4,8(kv 2),1x512,64 bf16 causal lse", "rmsnorm ROWS=4096,COLUMNS=1024 f16"
std::string describe(const Problem& problem);
std::string key(const Problem& problem);  ///< stable, for ids and lookups
/// The members of Problem; lse if wanted. Of a custom operation: those of OwnProblem and dtype.
/// Reading checks it as validate() does; kv_heads, seq_kv, dtype, mask and lse may be left out.
void fields(Problem& x, FieldList& f);

}  // namespace fatune
