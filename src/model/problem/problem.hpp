// problem.hpp - what is to be computed: attention sizes, element type, mask and outputs, or the
// sizes of a custom operation; its operations and least bytes.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/json.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "model/problem/dtype.hpp"
#include "model/problem/layout.hpp"

namespace fatune {

enum class Mask { kNone, kCausal };
std::string_view name(Mask mask);  ///< "none", "causal"
Result<Mask> parse_mask(std::string_view text);
FieldWord<Mask> word_of(const Mask*);

/// Who quantizes q, k and v of an fp8 problem: whoever calls (given), or the kernel (fused), which
/// takes K's mean over keys out of K where these share an offset (smooth_k).
enum class Quant { kGiven, kFused, kSmoothK };
std::string_view name(Quant quant);  ///< "given", "fused", "smooth_k"
Result<Quant> parse_quant(std::string_view text);
FieldWord<Quant> word_of(const Quant*);

/// The largest value of a size: kernels count in 32 bits.
inline constexpr std::int64_t kLargestSize = (std::int64_t{1} << 31) - 1;
/// Of a tensor, in bytes: chosen, beyond any device.
inline constexpr std::int64_t kLargestTensor = std::int64_t{1} << 40;

/// A size of a problem, by the name of its macro.
struct NamedSize {
  std::string name;
  std::int64_t value = 1;
  friend auto operator<=>(const NamedSize&, const NamedSize&) = default;
};

/// Sizes and least work of a custom operation (decision 0012), in place of attention's. Records
/// keep the work, so that rates and floors need no manifest.
struct CustomProblem {
  std::string operation;
  std::vector<NamedSize> sizes;  ///< in the declaration's order
  std::int64_t flops = 0;        ///< that any right kernel does; 0: not told
  std::int64_t bytes_read = 0;   ///< that any right kernel reads
  std::int64_t bytes_written = 0;
  friend auto operator<=>(const CustomProblem&, const CustomProblem&) = default;
};
void fields(CustomProblem& x, FieldList& f);

/// q and out are (batch, heads, seq_q, head_dim); k and v are (batch, kv_heads, seq_kv, head_dim);
/// where their rows lie is said by layouts. Causal is aligned bottom-right: query i sees key j when
/// j <= i + seq_kv - seq_q.
struct Problem {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t seq_q = 1;
  std::int64_t seq_kv = 1;
  std::int64_t head_dim = 64;
  Dtype dtype = Dtype::kF16;  ///< of q, k and v, and of what is multiplied
  Mask mask = Mask::kNone;
  /// Also wanted: the log-sum-exp of each row, fp32, contiguous (batch, heads, seq_q).
  bool lse = false;
  Layouts layouts = {};
  /// Of out, f16 or bf16, where dtype is e4m3 or e5m2; otherwise out is of dtype.
  std::optional<Dtype> out_dtype = std::nullopt;
  /// Of fp8. Not given: q, k and v are of out_dtype, without factors; dtype is what they become.
  Quant quant = Quant::kGiven;
  /// Of the scores before the softmax, where it is not 1/sqrt(head_dim); more than 0.
  std::optional<double> scale = std::nullopt;
  /// Set for a custom operation; then only dtype of the members above counts.
  std::optional<CustomProblem> custom = std::nullopt;

  friend auto operator<=>(const Problem&, const Problem&) = default;
  std::int64_t query_elements() const { return batch * heads * seq_q * head_dim; }
  std::int64_t key_elements() const { return batch * kv_heads * seq_kv * head_dim; }
  std::int64_t rows() const { return batch * heads * seq_q; }  ///< of q and out
};

/// "4,8,512,64" as batch, heads, seq, head_dim; seq_kv and kv_heads follow. Errors name where the
/// text came from and the part that is wrong: "--shape 4,8,0,64: seq must be at least 1 (third
/// part)".
Result<Problem> parse_shape(std::string_view text, std::string_view where = "--shape");
/// Positive sizes within limits (each <= 2^31-1, tensors <= 2^40 bytes), kv_heads divides heads,
/// an out_dtype exactly where dtype is fp8, fused or smooth_k nowhere else, and rows that neither
/// overlap nor, where strides are told, are other than 16-byte aligned.
Status validate(const Problem& problem);
/// "4,8,512,64 f16", "4,8(kv 2),1x512,64 bf16 causal lse packed", "rmsnorm ROWS=4096,COLUMNS=1024
/// f16"
std::string describe(const Problem& problem);
std::string key(const Problem& problem);                  ///< stable, for ids and lookups
std::string_view operation_name(const Problem& problem);  ///< "attention", or the custom operation
/// What expressions and templates know of a problem: BATCH, ..., CAUSAL, LSE and the strides
/// Q_BATCH_STRIDE, Q_HEAD_STRIDE, Q_ROW_STRIDE, K_... of attention, or the sizes of the custom
/// operation.
std::vector<NamedSize> named_sizes(const Problem& problem);

/// Of the scores before the softmax.
double scale_of(const Problem& problem);
/// The same with this scale; none is kept that is 1/sqrt(head_dim) but for rounding.
Problem with_scale(Problem problem, double scale);
Dtype out_dtype(const Problem& problem);
/// What a kernel of attention can be passed: q, k, v, the factors of fp8, out, lse.
std::vector<std::string> attention_tensors(const Problem& problem);
/// What Problem::out_dtype is unless told: bf16 for e4m3 and e5m2, nothing otherwise.
std::optional<Dtype> default_out_dtype(Dtype dtype);
/// Whether a kernel multiplies elements of 8 bits.
bool is_fp8(const Problem& problem);
/// Whether q, k and v are elements times a factor: fp8 attention whose inputs are quantized
/// already; q_descale, k_descale and v_descale are fp32, contiguous (batch, kv_heads).
bool has_descales(const Problem& problem);
/// Whether the kernel quantizes.
bool is_fused(const Problem& problem);
bool smooths_k(const Problem& problem);    ///< whether it does so without K's mean over keys
bool is_descale(std::string_view tensor);  ///< q_descale, k_descale or v_descale
/// The same with q, k and v in the type of out, in which they are multiplied, too.
Problem unquantized(Problem problem);
/// The fp8 problem whose inputs are those of a fused one, quantized.
Problem with_given_factors(Problem problem);
/// What 16-bit implementations compute on the same inputs: unquantized() of a fused problem; every
/// other problem is itself.
Problem in_given_types(const Problem& problem);

/// These are for attention only; `tensor` is q, k, v or out.
Dtype dtype_of(const Problem& problem, std::string_view tensor);
TensorSizes sizes_of(const Problem& problem, std::string_view tensor);
Strides strides_of(const Problem& problem, std::string_view tensor);
/// Of the tensor's first element in the packed one; 0 in other layouts.
std::int64_t packed_offset(const Problem& problem, std::string_view tensor);

/// "ROWS=4096,COLUMNS=1024", each size from 1 to 2^31-1 and named once. The error names `where` and
/// the part that is wrong.
Result<std::vector<NamedSize>> parse_sizes(std::string_view text, std::string_view where);
/// "ROWS=4096,COLUMNS=1024": what parse_sizes() reads.
std::string describe(const std::vector<NamedSize>& sizes);
/// {"ROWS": 4096, "COLUMNS": 1024}
Result<std::vector<NamedSize>> sizes_from_json(const Json& json, const std::string& where);

/// The members of Problem; lse if wanted, layout if not bhsd, out_dtype of fp8, quant if not given.
/// Of a custom operation: those of CustomProblem and dtype. Reading checks it as validate() does;
/// kv_heads, seq_kv, dtype, mask, lse, layout and scale may be left out.
void fields(Problem& x, FieldList& f);

/// 4·B·H·Sq·Skv·D, half of it for causal; for a custom operation what it declares.
Flops flops(const Problem& problem);
/// Inputs read once and outputs written once: q, k, v, out, and lse and factors if there are any.
Bytes least_bytes(const Problem& problem);
/// Whether the flops are known: attention, and operations that declare them.
bool counts_flops(const Problem& problem);
/// Rate of the least bytes.
double gigabytes_per_second(const Problem& problem, Seconds time);
/// These four are for attention only.
Bytes query_bytes(const Problem& problem);  ///< of q
Bytes key_bytes(const Problem& problem);    ///< of k, and of v
Bytes out_bytes(const Problem& problem);
Bytes lse_bytes(const Problem& problem);  ///< fp32; 0 when it is not wanted

}  // namespace fatune
