// problem.hpp: Defines a problem: attention or a custom operation, its sizes, types, work and
// bytes.
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

/// Who quantizes q, k and v of an fp8 problem: the caller (given) or the kernel (otherwise).
/// smooth_k first subtracts K's mean over keys, because K's rows share an offset.
enum class Quant { kGiven, kFused, kSmoothK };
std::string_view name(Quant quant);  ///< "given", "fused", "smooth_k"
Result<Quant> parse_quant(std::string_view text);
FieldWord<Quant> word_of(const Quant*);

/// Largest value of a size: kernels count in 32 bits, rounded up to tiles of up to 2^16 rows.
inline constexpr std::int64_t kLargestSize = (std::int64_t{1} << 31) - (std::int64_t{1} << 16);
/// Largest tensor in bytes; chosen, beyond any device.
inline constexpr std::int64_t kLargestTensor = std::int64_t{1} << 40;

/// A size of a problem under the name of its macro.
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
  std::int64_t flops = 0;        ///< least of any correct kernel; 0: unknown
  std::int64_t bytes_read = 0;   ///< least of any correct kernel
  std::int64_t bytes_written = 0;
  friend auto operator<=>(const CustomProblem&, const CustomProblem&) = default;
};
void fields(CustomProblem& x, FieldList& f);

/// Shapes: q and out are (batch, heads, seq_q, head_dim); k and v are (batch, kv_heads, seq_kv,
/// head_dim). `layouts` places their rows in memory. Causal is aligned bottom-right: query i sees
/// key j when j <= i + seq_kv - seq_q.
struct Problem {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t seq_q = 1;
  std::int64_t seq_kv = 1;
  std::int64_t head_dim = 64;
  Dtype dtype = Dtype::kF16;  ///< of q, k and v, and of the products' operands
  Mask mask = Mask::kNone;
  /// Requests the log-sum-exp of each row as a further output: fp32, contiguous (batch, heads,
  /// seq_q).
  bool lse = false;
  Layouts layouts = {};
  /// Type of out, f16 or bf16, if dtype is e4m3 or e5m2; otherwise out has type dtype.
  std::optional<Dtype> out_dtype = std::nullopt;
  /// fp8 only. Unless given, q, k and v have type out_dtype and no factors; the kernel quantizes
  /// them to dtype.
  Quant quant = Quant::kGiven;
  /// Softmax scale, more than 0, if it is not 1/sqrt(head_dim).
  std::optional<double> scale = std::nullopt;
  /// Set for a custom operation; dtype is then the only member above that counts.
  std::optional<CustomProblem> custom = std::nullopt;

  friend auto operator<=>(const Problem&, const Problem&) = default;
  std::int64_t query_elements() const { return batch * heads * seq_q * head_dim; }
  std::int64_t key_elements() const { return batch * kv_heads * seq_kv * head_dim; }
  std::int64_t rows() const { return batch * heads * seq_q; }  ///< of q and out
};

/// Parses "4,8,512,64" as batch, heads, seq, head_dim; seq_kv and kv_heads follow. Errors name the
/// text's origin and the faulty part: "--shape 4,8,0,64: seq must be at least 1 (third part)".
Result<Problem> parse_shape(std::string_view text, std::string_view where = "--shape");
/// Checks that sizes are positive and within limits (each <= 2^31-1, tensors <= 2^40 bytes) and
/// that kv_heads divides heads. An out_dtype is required for fp8 and forbidden otherwise; fused and
/// smooth_k require fp8. Rows must not overlap, and explicit strides must be 16-byte aligned.
Status validate(const Problem& problem);
/// "4,8,512,64 f16", "4,8(kv 2),1x512,64 bf16 causal lse packed", "rmsnorm ROWS=4096,COLUMNS=1024
/// f16"
std::string describe(const Problem& problem);
std::string key(const Problem& problem);                  ///< stable; for ids and lookups
std::string_view operation_name(const Problem& problem);  ///< "attention", or the custom operation
/// Returns the sizes that expressions and templates can use. For attention: BATCH, ..., CAUSAL, LSE
/// and the strides Q_BATCH_STRIDE, Q_HEAD_STRIDE, Q_ROW_STRIDE, K_... For a custom operation: its
/// sizes.
std::vector<NamedSize> named_sizes(const Problem& problem);

/// Returns the softmax scale.
double scale_of(const Problem& problem);
/// Returns the problem with this softmax scale; 1/sqrt(head_dim), up to rounding, is stored as
/// unset.
Problem with_scale(Problem problem, double scale);
Dtype out_dtype(const Problem& problem);
/// Returns the tensors that an attention kernel can take: q, k, v, the factors of fp8, out, lse.
std::vector<std::string> attention_tensors(const Problem& problem);
/// Default of Problem::out_dtype: bf16 for e4m3 and e5m2, otherwise empty.
std::optional<Dtype> default_out_dtype(Dtype dtype);
/// Tells whether a kernel multiplies 8-bit elements.
bool is_fp8(const Problem& problem);
/// Tells whether q, k and v come with factors: fp8 attention with quantized inputs. q_descale,
/// k_descale and v_descale are fp32, contiguous (batch, kv_heads).
bool has_descales(const Problem& problem);
/// Tells whether the kernel quantizes.
bool is_fused(const Problem& problem);
bool smooths_k(const Problem& problem);    ///< quantizes after subtracting K's mean
bool is_descale(std::string_view tensor);  ///< q_descale, k_descale or v_descale
/// Returns the problem with q, k and v in the type of out, in which they are also multiplied.
Problem unquantized(Problem problem);
/// Returns the fp8 problem whose inputs are the quantized inputs of a fused one.
Problem with_given_factors(Problem problem);
/// Returns the problem that 16-bit implementations compute on equal inputs: unquantized() of a
/// fused problem, otherwise the problem itself.
Problem in_given_types(const Problem& problem);

/// The next four functions are for attention only; `tensor` is q, k, v or out.
Dtype dtype_of(const Problem& problem, std::string_view tensor);
TensorSizes sizes_of(const Problem& problem, std::string_view tensor);
Strides strides_of(const Problem& problem, std::string_view tensor);
/// Offset of the tensor's first element in the packed tensor; 0 in other layouts.
std::int64_t packed_offset(const Problem& problem, std::string_view tensor);

/// Parses "ROWS=4096,COLUMNS=1024"; each size is from 1 to 2^31-1 and named once. The error names
/// `where` and the faulty part.
Result<std::vector<NamedSize>> parse_sizes(std::string_view text, std::string_view where);
/// Returns the text that parse_sizes() reads: "ROWS=4096,COLUMNS=1024".
std::string describe(const std::vector<NamedSize>& sizes);

/// Lists the members of Problem: lse if wanted, layout if not bhsd, out_dtype for fp8, quant if not
/// given. A custom operation has the members of CustomProblem and dtype. Reading applies
/// validate(); kv_heads, seq_kv, dtype, mask, lse, layout and scale are optional.
void fields(Problem& x, FieldList& f);

/// 4·B·H·Sq·Skv·D, half for causal; for a custom operation the declared number.
Flops flops(const Problem& problem);
/// Counts inputs read once and outputs written once: q, k, v, out, and lse and factors if present.
Bytes least_bytes(const Problem& problem);
/// Tells whether the flops are known: for attention, and for operations that declare them.
bool counts_flops(const Problem& problem);
/// Returns least_bytes() over the time.
double gigabytes_per_second(const Problem& problem, Seconds time);
/// The next four functions are for attention only.
Bytes query_bytes(const Problem& problem);  ///< of q
Bytes key_bytes(const Problem& problem);    ///< of k, which equals the bytes of v
Bytes out_bytes(const Problem& problem);
Bytes lse_bytes(const Problem& problem);  ///< fp32; 0 if not wanted

}  // namespace fatune
