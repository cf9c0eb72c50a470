// problem.hpp: Defines a problem: attention or a custom operation, its sizes, types, work and
// bytes.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/json.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "model/problem/bias.hpp"
#include "model/problem/dtype.hpp"
#include "model/problem/layout.hpp"
#include "model/problem/mask.hpp"
#include "model/problem/named_tensor.hpp"

namespace fatune {

/// Who quantizes q, k and v of an fp8 problem: the caller (given) or the kernel (otherwise).
/// smooth_k first subtracts K's mean over keys, because K's rows share an offset.
enum class Quant { kGiven, kFused, kSmoothK };
std::string_view name(Quant quant);  ///< "given", "fused", "smooth_k"
Result<Quant> parse_quant(std::string_view text);
FieldWord<Quant> word_of(const Quant*);

/// Largest value of a size: kernels count in 32 bits, rounded up to tiles of up to 2^16 rows.
inline constexpr std::int64_t kLargestSize = (std::int64_t{1} << 31) - (std::int64_t{1} << 16);
/// Largest run-time size of a declared operation: doubles, in which the host counts, hold it.
inline constexpr std::int64_t kLargestRuntimeSize = std::int64_t{1} << 53;
/// Largest tensor in bytes; chosen, beyond any device.
inline constexpr std::int64_t kLargestTensor = std::int64_t{1} << 40;

/// A size of a problem under the name of its macro.
struct NamedSize {
  std::string name;
  std::int64_t value = 1;
  friend auto operator<=>(const NamedSize&, const NamedSize&) = default;
};

/// A custom operation (decision 0012). Records keep its least work, so that rates need no manifest.
struct CustomProblem {
  std::optional<Dtype> dtype = {};  ///< of tensors of the type "io"; none: no tensor has it
  std::string operation = {};
  std::vector<NamedSize> sizes = {};  ///< in the declaration's order
  std::int64_t flops = 0;             ///< least of any correct kernel; 0: unknown
  std::int64_t bytes_read = 0;        ///< least of any correct kernel
  std::int64_t bytes_written = 0;
  friend auto operator<=>(const CustomProblem&, const CustomProblem&) = default;
};

/// Shapes: q and out are (batch, heads, seq_q, head_dim); k and v are (batch, kv_heads, seq_kv,
/// head_dim), unless v and out have a value_dim. `layouts` places their rows in memory.
struct Attention {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, seq_q = 1, seq_kv = 1, head_dim = 64;
  Dtype dtype = Dtype::kF16;  ///< of q, k and v, and of the products' operands
  Mask mask = {};             ///< canonical() at these lengths
  /// Requests the log-sum-exp of each row, too: fp32, contiguous (batch, heads, seq_q).
  bool lse = false;
  Layouts layouts = {};
  /// Type of out, f16 or bf16, if dtype is e4m3 or e5m2; otherwise out has type dtype.
  std::optional<Dtype> out_dtype = std::nullopt;
  /// fp8 only. Unless given, q, k and v have type out_dtype and no factors; the kernel quantizes
  /// them to dtype.
  Quant quant = Quant::kGiven;
  /// Scores, which have scale, cap and bias, fall by slopes[head] * |position of the query - key|.
  /// The last query has the position of the last key. The tensor `alibi`: fp32, (heads).
  bool alibi = false;
  /// The softmax of each row has one more term, exp(sink[head]), without a value. The tensor
  /// `sink`: type of q, (heads). A row that sees no key is 0, and its log-sum-exp sink[head].
  bool sink = false;
  /// Columns of v and out, if not head_dim. f16 and bf16 only.
  std::optional<std::int64_t> value_dim = std::nullopt;

  /// Softmax scale, more than 0, if it is not 1/sqrt(head_dim).
  std::optional<double> scale = std::nullopt;
  /// Scores, which have the scale, become softcap * tanh(score / softcap) before the mask.
  std::optional<double> softcap = std::nullopt;
  std::optional<Bias> bias = std::nullopt;
  /// The expression that replaces scores after scale, cap, bias and ALiBi: the text() of a
  /// PairRule, or empty. A result below kHidingBias hides the key.
  std::string score = {};
  std::vector<NamedTensor> tensors = {};  ///< read by mask and score expressions

  friend auto operator<=>(const Attention&, const Attention&) = default;
  std::int64_t query_elements() const { return batch * heads * seq_q * head_dim; }
  std::int64_t key_elements() const { return batch * kv_heads * seq_kv * head_dim; }
  std::int64_t value_columns() const { return value_dim.value_or(head_dim); }  ///< of v and out
  std::int64_t rows() const { return batch * heads * seq_q; }                  ///< of q and out
};
/// A change of scores between their scale and their mask; a manifest lists those of its kernel.
enum class ScoreChange { kSoftcap, kBias, kAlibi, kSink, kExpression };
std::string_view name(ScoreChange change);  ///< "softcap", "bias", "alibi", "sink", ...
/// Returns the changes that the problem asks for.
std::vector<ScoreChange> score_changes(const Attention& attention);
FieldWord<ScoreChange> word_of(const ScoreChange*);

/// Lists the members: lse if wanted, layout if not bhsd, out_dtype for fp8, quant if not given.
/// Reading applies validate(); kv_heads, seq_kv, dtype, mask, lse, layout and scale are optional.
void fields(Attention& x, FieldList& f);

/// A problem is attention or a custom operation. Functions that only make sense for attention take
/// Attention.
class Problem {
 public:
  Problem() = default;
  Problem(const Attention& attention) : what_(attention) {}    // implicit by design
  Problem(CustomProblem custom) : what_(std::move(custom)) {}  // implicit by design
  friend auto operator<=>(const Problem&, const Problem&) = default;

  const Attention* attention() const { return std::get_if<Attention>(&what_); }       ///< or null
  const CustomProblem* custom() const { return std::get_if<CustomProblem>(&what_); }  ///< or null
  /// Checked, for callers that the other kind does not reach.
  const Attention& as_attention() const { return *checked(attention()); }
  Attention& as_attention() { return *checked(std::get_if<Attention>(&what_)); }
  CustomProblem& as_custom() { return *checked(std::get_if<CustomProblem>(&what_)); }
  /// Returns f16 if no tensor has the problem's type.
  Dtype dtype() const {
    return custom() ? custom()->dtype.value_or(Dtype::kF16) : attention()->dtype;
  }
  /// Returns is(is_fp8) or is(&Attention::lse) of attention; false for a custom operation.
  template <typename Property>
  bool is(const Property& property) const {
    return attention() != nullptr && std::invoke(property, *attention());
  }

 private:
  template <typename Kind>
  static Kind* checked(Kind* kind) {
    FATUNE_CHECK(kind != nullptr, "a problem of the other kind comes here");
    return kind;
  }
  std::variant<Attention, CustomProblem> what_;
};
void fields(Problem& x, FieldList& f);  ///< of its kind; "operation" marks a custom one

/// Parses "4,8,512,64" as batch, heads, seq, head_dim; seq_kv and kv_heads follow. Errors name the
/// text's origin and the faulty part: "--shape 4,8,0,64: seq must be at least 1 (third part)".
Result<Attention> parse_shape(std::string_view text, std::string_view where = "--shape");
/// Checks that sizes are positive and within limits (each <= 2^31-1, tensors <= 2^40 bytes) and
/// that kv_heads divides heads. An out_dtype is required for fp8 and forbidden otherwise; fused and
/// smooth_k require fp8. Rows must not overlap, and explicit strides must be 16-byte aligned.
Status validate(const Attention& attention);
/// "4,8,512,64 f16", "4,8(kv 2),1x512,64 bf16 causal lse packed", "rmsnorm ROWS=4096,COLUMNS=1024
/// f16"
std::string describe(const Problem& problem);
std::string key(const Problem& problem);                  ///< stable; for ids and lookups
std::string_view operation_name(const Problem& problem);  ///< "attention", or the custom operation
/// Returns the sizes that expressions and templates can use. For attention: BATCH, ..., LSE, those
/// of the mask, and the strides Q_BATCH_STRIDE, Q_HEAD_STRIDE, Q_ROW_STRIDE, K_... For a custom
/// operation: its sizes.
std::vector<NamedSize> named_sizes(const Problem& problem);

double scale_of(const Attention& attention);  ///< of the softmax
/// Returns the problem with this softmax scale; 1/sqrt(head_dim), up to rounding, is stored as
/// unset.
Attention with_scale(Attention attention, double scale);
/// Returns the problem with as many columns of v and out; head_dim is stored as unset.
Attention with_value_dim(Attention attention, std::int64_t columns);
Dtype out_dtype(const Attention& attention);
/// Returns the tensors that an attention kernel can take: q, k, v, the factors of fp8, the optional
/// tensors, out, lse.
std::vector<std::string> attention_tensors(const Attention& attention);
/// The argument that stands for all named tensors.
inline constexpr std::string_view kAllTensors = "tensors";
/// Inputs that few problems have, in the order of a kernel's parameters.
inline constexpr std::array<std::string_view, 5> kOptionalTensors = {"bias", "lengths", "alibi",
                                                                     "sink", "tensors"};
bool is_optional(std::string_view tensor);
/// Default of Attention::out_dtype: bf16 for e4m3 and e5m2, otherwise empty.
std::optional<Dtype> default_out_dtype(Dtype dtype);
bool is_fp8(const Attention& attention);  ///< whether a kernel multiplies 8-bit elements
/// Tells whether q, k and v come with factors: fp8 with quantized inputs. q_descale, k_descale and
/// v_descale are fp32, contiguous (batch, kv_heads).
bool has_descales(const Attention& attention);
bool is_fused(const Attention& attention);   ///< whether the kernel quantizes
bool smooths_k(const Attention& attention);  ///< quantizes after subtracting K's mean
bool is_descale(std::string_view tensor);    ///< q_descale, k_descale or v_descale
/// Returns the problem with q, k and v in the type of out, in which they are also multiplied.
Attention unquantized(Attention attention);
/// Returns the fp8 problem whose inputs are the quantized inputs of a fused one.
Attention with_given_factors(Attention attention);
/// Returns the problem that 16-bit implementations compute on equal inputs: unquantized() of a
/// fused problem, otherwise the problem itself.
Attention in_given_types(const Attention& attention);

/// In the next four functions `tensor` is q, k, v or out.
Dtype dtype_of(const Attention& attention, std::string_view tensor);
TensorSizes sizes_of(const Attention& attention, std::string_view tensor);
Strides strides_of(const Attention& attention, std::string_view tensor);
/// Offset of the tensor's first element in the packed tensor; 0 in other layouts.
std::int64_t packed_offset(const Attention& attention, std::string_view tensor);

/// Parses "ROWS=4096,COLUMNS=1024"; each size is from 1 to 2^31-1 and named once. The error names
/// `where` and the faulty part.
Result<std::vector<NamedSize>> parse_sizes(std::string_view text, std::string_view where);
/// Returns the text that parse_sizes() reads: "ROWS=4096,COLUMNS=1024".
std::string describe(const std::vector<NamedSize>& sizes);

/// 2·B·H·(D + D of v) for each pair that is not masked; half of all pairs for causal. For a custom
/// operation the declared number.
Flops flops(const Problem& problem);
/// Counts inputs read once and outputs written once: q, out, k and v but for the keys that lengths
/// hide, and lse, factors and optional tensors if present. Named tensors do not count.
Bytes least_bytes(const Problem& problem);
/// Tells whether the flops are known: for attention, and for operations that declare them.
bool counts_flops(const Problem& problem);
double gigabytes_per_second(const Problem& problem, Seconds time);  ///< of least_bytes()
Bytes query_bytes(const Attention& attention);                      ///< of q
Bytes key_bytes(const Attention& attention);                        ///< of k
Bytes value_bytes(const Attention& attention);                      ///< of v
Bytes out_bytes(const Attention& attention);
Bytes lse_bytes(const Attention& attention);  ///< fp32; 0 if not wanted

}  // namespace fatune
