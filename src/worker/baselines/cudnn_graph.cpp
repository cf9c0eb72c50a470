// cudnn_graph.cpp: Checks a problem against cuDNN's limits and makes its operation graph.
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"
#include "worker/baselines/cudnn_library.hpp"

namespace fatune {
namespace {

// Versions as cudnnGetVersion numbers them.
constexpr std::size_t kOldest = 90100;  // chosen: GQA and both masks in the composite form
constexpr std::size_t kAnySizeBottomRight = 90600;
constexpr std::size_t kInfinityAsMask = 91000;  // older softmax takes the lowest float as mask
constexpr std::size_t kFixedForward = 91002;    // 9.10.0 and 9.10.1 give wrong results

constexpr std::int64_t kFp8HeadDim = 128;
constexpr float kPScale = 256;  // scale of fp8 probabilities; 448 is the largest e4m3

using Extents = std::array<std::int64_t, 4>;

/// A causal mask with a single query, the last one, hides nothing.
bool needs_mask(const Attention& problem) {
  return problem.mask == Mask::kCausal && problem.seq_q > 1;
}

CudnnData data_type(Dtype dtype) {
  if (dtype == Dtype::kE4m3) return CudnnData::kE4m3;
  if (dtype == Dtype::kE5m2) return CudnnData::kE5m2;
  return dtype == Dtype::kF16 ? CudnnData::kHalf : CudnnData::kBfloat16;
}

/// One tensor as cuDNN sees it.
struct Tensor {
  std::int64_t id = 0;
  Extents extents{1, 1, 1, 1};
  Extents strides{1, 1, 1, 1};
  CudnnData type = CudnnData::kFloat;
  enum class Place { kDevice, kVirtual, kHostValue } place = Place::kVirtual;
};

struct PointwiseInputs {
  void* x = nullptr;
  void* b = nullptr;                                ///< second operand
  void* choice = nullptr;                           ///< of kSelect
  std::optional<std::int64_t> axis = std::nullopt;  ///< of kIndex
};

/// Strides of a contiguous tensor.
Extents contiguous(const Extents& extents) {
  return {extents[1] * extents[2] * extents[3], extents[2] * extents[3], extents[3], 1};
}

/// Writes one graph. Every call keeps its descriptors in the graph's parts, so that the returned
/// pointers stay valid.
class Writer {
 public:
  Writer(const CudnnFunctions& functions, const Attention& problem)
      : functions_(functions), problem_(problem), element_(data_type(problem.dtype)) {}

  Result<CudnnGraph> attention(void* handle);

 private:
  Result<void*> keep(CudnnName kind, std::initializer_list<CudnnSetting> settings);
  Status operation(CudnnName kind, std::initializer_list<CudnnSetting> settings);
  Result<void*> tensor(const Tensor& tensor);
  Result<void*> device(std::int64_t id, const Extents& extents, const Extents& strides);
  Result<void*> device_scalar(std::int64_t id);
  Result<void*> host_value(std::int64_t id, std::variant<float, std::int32_t> value);
  Result<void*> result(const Extents& extents, CudnnData type = CudnnData::kFloat);
  Status matmul(void* a, void* b, void* c);
  Result<void*> pointwise(CudnnPointwise mode, const PointwiseInputs& inputs,
                          const Extents& extents, CudnnData type = CudnnData::kFloat,
                          CudnnData precision = CudnnData::kFloat);
  Status pointwise_to(CudnnPointwise mode, const PointwiseInputs& inputs, void* y,
                      CudnnData precision = CudnnData::kFloat);
  Result<void*> times(void* x, std::int64_t device_factor, const Extents& extents,
                      CudnnData type = CudnnData::kFloat);
  Result<void*> reduce(CudnnReduction mode, void* x);
  Status reduce_to(CudnnReduction mode, void* x, void* y);
  Status largest_magnitude(void* x, std::int64_t id);
  Result<void*> masked(void* scores);
  Result<void*> softmax(void* scores);
  Result<void*> probabilities(void* scores);
  Status output(void* probabilities, void* v);

  Extents query_extents() const {
    return {problem_.batch, problem_.heads, problem_.seq_q, problem_.head_dim};
  }
  Extents key_extents() const {
    return {problem_.batch, problem_.kv_heads, problem_.seq_kv, problem_.head_dim};
  }
  Extents score_extents() const {
    return {problem_.batch, problem_.heads, problem_.seq_q, problem_.seq_kv};
  }
  Extents row_extents() const { return {problem_.batch, problem_.heads, problem_.seq_q, 1}; }
  /// Describes q, k, v or out with the strides of the problem's layout.
  Extents strides(std::string_view tensor) const { return strides_of(problem_, tensor).all(); }
  float scale() const { return static_cast<float>(scale_of(problem_)); }

  const CudnnFunctions& functions_;
  const Attention& problem_;
  CudnnData element_;
  CudnnGraph graph_;
  std::vector<void*> operations_;
  std::int64_t next_id_ = cudnn_id::kFirstVirtual;
};

Result<void*> Writer::keep(CudnnName kind, std::initializer_list<CudnnSetting> settings) {
  FATUNE_TRY(CudnnDescriptor descriptor, CudnnDescriptor::make(functions_, kind, settings));
  graph_.parts.push_back(std::move(descriptor));
  return graph_.parts.back().raw();
}

Status Writer::operation(CudnnName kind, std::initializer_list<CudnnSetting> settings) {
  FATUNE_TRY(void* const done, keep(kind, settings));
  operations_.push_back(done);
  return {};
}

Result<void*> Writer::tensor(const Tensor& tensor) {
  constexpr std::int64_t kAlignment = 16;  // bytes; buffers are aligned better
  const auto flag = [&](Tensor::Place place) {
    return tensor.place == place ? std::optional(true) : std::nullopt;
  };
  return keep(cudnn_descriptor::kTensor,
              {{cudnn_attribute::kTensorDataType, tensor.type},
               {cudnn_attribute::kTensorDimensions, std::span(tensor.extents)},
               {cudnn_attribute::kTensorStrides, std::span(tensor.strides)},
               {cudnn_attribute::kTensorId, tensor.id},
               {cudnn_attribute::kTensorAlignment, kAlignment},
               {cudnn_attribute::kTensorIsVirtual, flag(Tensor::Place::kVirtual)},
               {cudnn_attribute::kTensorIsByValue, flag(Tensor::Place::kHostValue)}});
}

Result<void*> Writer::device(std::int64_t id, const Extents& extents, const Extents& strides) {
  return tensor({id, extents, strides, element_, Tensor::Place::kDevice});
}

Result<void*> Writer::device_scalar(std::int64_t id) {
  return tensor({.id = id, .place = Tensor::Place::kDevice});
}

Result<void*> Writer::host_value(std::int64_t id, std::variant<float, std::int32_t> value) {
  const bool whole = std::holds_alternative<std::int32_t>(value);
  graph_.scalars.push_back({id, value});
  return tensor({id,
                 {1, 1, 1, 1},
                 {1, 1, 1, 1},
                 whole ? CudnnData::kInt32 : CudnnData::kFloat,
                 Tensor::Place::kHostValue});
}

Result<void*> Writer::result(const Extents& extents, CudnnData type) {
  return tensor({next_id_++, extents, contiguous(extents), type, Tensor::Place::kVirtual});
}

Status Writer::matmul(void* a, void* b, void* c) {
  FATUNE_TRY(void* const settings, keep(cudnn_descriptor::kMatmul,
                                        {{cudnn_attribute::kMatmulPrecision, CudnnData::kFloat}}));
  return operation(cudnn_descriptor::kMatmulOperation,
                   {{cudnn_attribute::kMatmulA, a},
                    {cudnn_attribute::kMatmulB, b},
                    {cudnn_attribute::kMatmulC, c},
                    {cudnn_attribute::kMatmulDescriptor, settings}});
}

Result<void*> Writer::pointwise(CudnnPointwise mode, const PointwiseInputs& inputs,
                                const Extents& extents, CudnnData type, CudnnData precision) {
  FATUNE_TRY(void* const y, result(extents, type));
  FATUNE_TRY_STATUS(pointwise_to(mode, inputs, y, precision));
  return y;
}

Status Writer::pointwise_to(CudnnPointwise mode, const PointwiseInputs& inputs, void* y,
                            CudnnData precision) {
  FATUNE_TRY(void* const settings,
             keep(cudnn_descriptor::kPointwise, {{cudnn_attribute::kPointwiseMode, mode},
                                                 {cudnn_attribute::kPointwisePrecision, precision},
                                                 {cudnn_attribute::kPointwiseAxis, inputs.axis}}));
  return operation(cudnn_descriptor::kPointwiseOperation,
                   {{cudnn_attribute::kPointwiseDescriptor, settings},
                    {cudnn_attribute::kPointwiseX, inputs.x},
                    {cudnn_attribute::kPointwiseB, inputs.b},
                    {cudnn_attribute::kPointwiseT, inputs.choice},
                    {cudnn_attribute::kPointwiseY, y}});
}

Result<void*> Writer::times(void* x, std::int64_t device_factor, const Extents& extents,
                            CudnnData type) {
  FATUNE_TRY(void* const factor, device_scalar(device_factor));
  return pointwise(CudnnPointwise::kMul, {.x = x, .b = factor}, extents, type);
}

/// Adds a scalar in device memory.
Status Writer::largest_magnitude(void* x, std::int64_t id) {
  graph_.device_scalars.push_back({id, 0});
  FATUNE_TRY(void* const y, device_scalar(id));
  return reduce_to(CudnnReduction::kLargestMagnitude, x, y);
}

Status Writer::reduce_to(CudnnReduction mode, void* x, void* y) {
  FATUNE_TRY(void* const settings, keep(cudnn_descriptor::kReduction,
                                        {{cudnn_attribute::kReductionPrecision, CudnnData::kFloat},
                                         {cudnn_attribute::kReductionOperator, mode}}));
  return operation(cudnn_descriptor::kReductionOperation,
                   {{cudnn_attribute::kReductionDescriptor, settings},
                    {cudnn_attribute::kReductionX, x},
                    {cudnn_attribute::kReductionY, y}});
}

/// Reduces over the keys of each row.
Result<void*> Writer::reduce(CudnnReduction mode, void* x) {
  FATUNE_TRY(void* const y, result(row_extents()));
  FATUNE_TRY_STATUS(reduce_to(mode, x, y));
  return y;
}

/// Keeps a score where row + seq_kv - seq_q >= column. The engines recognise only this order of
/// operations, and for equal lengths only the form without the shift.
Result<void*> Writer::masked(void* scores) {
  const Extents extents = score_extents();
  const auto index = [&](std::int64_t axis) {
    return pointwise(CudnnPointwise::kIndex, {.x = scores, .axis = axis}, extents,
                     CudnnData::kInt32);
  };
  FATUNE_TRY(void* row, index(2));
  FATUNE_TRY(void* const column, index(3));
  if (problem_.seq_q != problem_.seq_kv) {
    FATUNE_TRY(void* const keys,
               host_value(cudnn_id::kSeqKv, static_cast<std::int32_t>(problem_.seq_kv)));
    FATUNE_TRY(row, pointwise(CudnnPointwise::kAdd, {.x = row, .b = keys}, extents,
                              CudnnData::kInt32, CudnnData::kInt32));
    FATUNE_TRY(void* const queries,
               host_value(cudnn_id::kSeqQ, static_cast<std::int32_t>(problem_.seq_q)));
    FATUNE_TRY(row, pointwise(CudnnPointwise::kSub, {.x = row, .b = queries}, extents,
                              CudnnData::kInt32, CudnnData::kInt32));
  }
  FATUNE_TRY(void* const visible,
             pointwise(CudnnPointwise::kGreaterOrEqual, {.x = row, .b = column}, extents,
                       CudnnData::kBoolean, CudnnData::kBoolean));
  const float hidden = functions_.version() < kInfinityAsMask
                           ? std::numeric_limits<float>::lowest()
                           : -std::numeric_limits<float>::infinity();
  FATUNE_TRY(void* const nothing, host_value(cudnn_id::kMasked, hidden));
  return pointwise(CudnnPointwise::kSelect, {.x = scores, .b = nothing, .choice = visible},
                   extents);
}

/// The row's statistics (maximum plus logarithm of the sum) are not used here, but are part of the
/// pattern that the engines look for.
Result<void*> Writer::softmax(void* scores) {
  const Extents extents = score_extents();
  FATUNE_TRY(void* const largest, reduce(CudnnReduction::kMax, scores));
  FATUNE_TRY(void* const shifted,
             pointwise(CudnnPointwise::kSub, {.x = scores, .b = largest}, extents));
  FATUNE_TRY(void* const powers, pointwise(CudnnPointwise::kExp, {.x = shifted}, extents));
  FATUNE_TRY(void* const sum, reduce(CudnnReduction::kAdd, powers));
  FATUNE_TRY(void* const logarithm, pointwise(CudnnPointwise::kLog, {.x = sum}, row_extents()));
  FATUNE_TRY_STATUS(pointwise(CudnnPointwise::kAdd, {.x = largest, .b = logarithm}, row_extents()));
  return pointwise(CudnnPointwise::kDiv, {.x = powers, .b = sum}, extents,
                   is_fp8(problem_) ? CudnnData::kFloat : element_);
}

/// Probabilities in the element type; in fp8 they are multiplied by kPScale.
Result<void*> Writer::probabilities(void* scores) {
  FATUNE_TRY(void* const exact, softmax(scores));
  if (!is_fp8(problem_)) return exact;
  FATUNE_TRY_STATUS(largest_magnitude(exact, cudnn_id::kPLargest));
  graph_.device_scalars.push_back({cudnn_id::kPScale, kPScale});
  return times(exact, cudnn_id::kPScale, score_extents(), element_);
}

/// After an fp8 product, cuDNN's pattern has two factors that undo scales and one factor of the
/// output. On Hopper the output must be fp8 ("FP8 input with F16 output only on Blackwell", 9.19).
Status Writer::output(void* probabilities, void* v) {
  const Extents extents = query_extents();
  const bool fp8 = is_fp8(problem_);
  FATUNE_TRY(void* const out,
             device(cudnn_id::kOut, extents, fp8 ? contiguous(extents) : strides("out")));
  if (!fp8) return matmul(probabilities, v, out);
  FATUNE_TRY(void* const products, result(extents));
  FATUNE_TRY_STATUS(matmul(probabilities, v, products));
  graph_.device_scalars.push_back({cudnn_id::kPDescale, 1 / kPScale});
  FATUNE_TRY(void* const values, times(products, cudnn_id::kPDescale, extents));
  FATUNE_TRY(void* const sums, times(values, cudnn_id::kVDescale, extents));
  graph_.device_scalars.push_back({cudnn_id::kOutScale, 1});
  FATUNE_TRY(void* const factor, device_scalar(cudnn_id::kOutScale));
  FATUNE_TRY_STATUS(pointwise_to(CudnnPointwise::kMul, {.x = sums, .b = factor}, out));
  return largest_magnitude(sums, cudnn_id::kOutLargest);
}

Result<CudnnGraph> Writer::attention(void* handle) {
  const Extents keys = key_extents();
  // The first product takes K transposed: extents and strides of the last two dimensions swapped.
  const Extents key_strides = strides("k");
  FATUNE_TRY(void* const q, device(cudnn_id::kQ, query_extents(), strides("q")));
  FATUNE_TRY(void* const k,
             device(cudnn_id::kK, {keys[0], keys[1], keys[3], keys[2]},
                    {key_strides[0], key_strides[1], key_strides[3], key_strides[2]}));
  FATUNE_TRY(void* const v, device(cudnn_id::kV, keys, strides("v")));
  FATUNE_TRY(void* const products, result(score_extents()));
  FATUNE_TRY_STATUS(matmul(q, k, products));
  FATUNE_TRY(void* const factor, host_value(cudnn_id::kScale, scale()));
  FATUNE_TRY(void* scores,
             pointwise(CudnnPointwise::kMul, {.x = products, .b = factor}, score_extents()));
  if (is_fp8(problem_)) {
    FATUNE_TRY(scores, times(scores, cudnn_id::kQDescale, score_extents()));
    FATUNE_TRY(scores, times(scores, cudnn_id::kKDescale, score_extents()));
  }
  if (needs_mask(problem_)) {
    FATUNE_TRY(scores, masked(scores));
  }
  FATUNE_TRY(void* const weights, probabilities(scores));
  FATUNE_TRY_STATUS(output(weights, v));
  FATUNE_TRY(graph_.graph, CudnnDescriptor::make(functions_, cudnn_descriptor::kGraph,
                                                 {{cudnn_attribute::kGraphHandle, handle},
                                                  {cudnn_attribute::kGraphOperations,
                                                   std::span<void* const>(operations_)}}));
  return std::move(graph_);
}

}  // namespace

Status check_cudnn_problem(const Attention& problem, std::size_t version) {
  const std::string text = cudnn_version_text(version);
  if (version < kOldest) {
    return environment_error(fmt::format("cuDNN {} is too old; fatune uses {} or newer", text,
                                         cudnn_version_text(kOldest)));
  }
  if (version < kFixedForward && version >= kInfinityAsMask) {
    return environment_error(
        fmt::format("cuDNN {} has a known fault in its attention; 9.10.2 corrects it", text));
  }
  if (is_fp8(problem) && problem.head_dim != kFp8HeadDim) {
    return usage_error(fmt::format("cudnn: head_dim {} is not taken in {}: its fp8 forward has {}",
                                   problem.head_dim, name(problem.dtype), kFp8HeadDim));
  }
  if (problem.head_dim % 8 != 0) {
    return usage_error(fmt::format("cudnn: head_dim {} is not taken: it must be a multiple of 8",
                                   problem.head_dim));
  }
  if (problem.value_dim) return usage_error("cudnn: --value-dim is not taken");
  if (const auto changes = score_changes(problem); !changes.empty())
    return usage_error(fmt::format("cudnn: --{} is not taken", name(changes.front())));
  if (problem.mask != Mask::kNone && problem.mask != Mask::kCausal) {
    return usage_error(
        fmt::format("cudnn: --mask {} is not taken, only none and causal", name(problem.mask)));
  }
  if (!needs_mask(problem) || problem.seq_q == problem.seq_kv) return {};
  if (problem.seq_q > problem.seq_kv) {
    return usage_error(
        fmt::format("cudnn: --causal with more queries than keys is not taken: the first {} rows "
                    "see no key, and cuDNN does not define their result",
                    problem.seq_q - problem.seq_kv));
  }
  if (version < kAnySizeBottomRight && (problem.seq_q % 64 != 0 || problem.seq_kv % 64 != 0)) {
    return usage_error(
        fmt::format("cudnn: --causal with {} queries and {} keys is not taken by cuDNN {}: before "
                    "9.6.0 different lengths must be multiples of 64",
                    problem.seq_q, problem.seq_kv, text));
  }
  return {};
}

Result<CudnnGraph> build_cudnn_graph(const CudnnFunctions& functions, void* handle,
                                     const Attention& problem) {
  FATUNE_CHECK(check_cudnn_problem(problem, functions.version()), "callers check the problem");
  auto graph = Writer(functions, problem).attention(handle);
  if (!graph) {
    return with_context(std::move(graph).error(), "writing cuDNN's operation graph");
  }
  return graph;
}

}  // namespace fatune
