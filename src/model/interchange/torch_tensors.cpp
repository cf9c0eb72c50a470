// torch_tensors.cpp - methods of tensors, tensors that are made, and the call of attention.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "model/interchange/reference.hpp"
#include "model/interchange/torch_reader.hpp"

namespace fatune {
namespace {

using TorchType = TorchValue::Kind;

constexpr double kScaleError = 1e-5;  ///< relative; a scale is often written in fp32
constexpr std::size_t kTorchDimensions = 4;

}  // namespace

bool is_fill(std::string_view method) {
  return method == "normal_" || method == "uniform_" || method == "random_";
}

DimensionOrder order_of(std::size_t dimensions) {
  DimensionOrder order(dimensions);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

/// The layout of a tensor whose dimensions lie in memory in their order as an argument.
Layout layout_of(const TorchValue& tensor, const std::vector<std::int64_t>& memory) {
  if (tensor.order == DimensionOrder{0, 1, 2, 3}) return {LayoutKind::kBhsd, {}};
  if (tensor.order == DimensionOrder{0, 2, 1, 3}) return {LayoutKind::kBshd, {}};
  std::array<std::int64_t, kTorchDimensions> strides{};
  std::int64_t stride = 1;
  for (std::size_t i = kTorchDimensions; i-- > 0;) {
    strides[i] = stride;
    stride *= memory[i];
  }
  return {LayoutKind::kStrides,
          {strides[tensor.order[0]], strides[tensor.order[1]], strides[tensor.order[2]]}};
}

TorchValue TorchReader::reordered(TorchValue tensor, const DimensionOrder& order) {
  const TorchValue before = tensor;
  for (std::size_t i = 0; i < order.size(); ++i) {
    tensor.shape[i] = before.shape[order[i]];
    tensor.order[i] = before.order[order[i]];
  }
  return tensor;
}

Result<TorchValue> TorchReader::method(const TorchValue& tensor, const std::string& name,
                                       const PyExpression& e) {
  const std::size_t count = tensor.shape.size();
  if (name == "size" && e.parts.size() == 1) return shape_list(tensor);
  if (name == "size") {
    FATUNE_TRY(const auto values, arguments(e, {"dim"}));
    const auto at = dimension(values[0], count);
    return at ? Result<TorchValue>(whole_of(tensor.shape[*at])) : wrong("size() of no dimension");
  }
  if (name == "transpose") {
    FATUNE_TRY(const auto values, arguments(e, {"dim0", "dim1"}));
    const auto a = dimension(values[0], count), b = dimension(values[1], count);
    if (!a || !b) return wrong("transpose() of no dimensions");
    DimensionOrder order = order_of(count);
    std::swap(order[*a], order[*b]);
    return reordered(tensor, order);
  }
  if (name == "permute") return permuted(tensor, e);
  const bool bare = e.parts.size() == 1 && e.keywords.empty();
  if (bare && tensor.is_made() && (name == "half" || name == "bfloat16"))
    return made_of(tensor, name == "half" ? "float16" : name);
  if (bare && (name == "float" || name == "double" || name == "cuda" || name == "contiguous"))
    return name == "contiguous" ? contiguous(tensor) : Result<TorchValue>(tensor);
  if (tensor.is_made() && is_fill(name)) return tensor;
  if (name == "to") return converted(tensor, e);
  return wrong(fmt::format(".{}() of a tensor is called: more than attention is computed", name));
}

Result<TorchValue> TorchReader::contiguous(const TorchValue& tensor) const {
  if (tensor.is_made()) {
    TorchValue copy = tensor;
    copy.order = order_of(tensor.shape.size());
    return copy;
  }
  if (tensor.kind == TorchType::kAttention || std::ranges::is_sorted(tensor.order)) return tensor;
  return wrong(".contiguous() copies an argument; a kernel reads it where it lies");
}

Result<TorchValue> TorchReader::permuted(const TorchValue& tensor, const PyExpression& e) {
  FATUNE_TRY(TorchValue listed, list({.kind = PyExpression::Kind::kList,
                                      .parts = {e.parts.begin() + 1, e.parts.end()}}));
  if (listed.parts.size() == 1 && listed.parts[0].kind == TorchType::kList)
    listed = TorchValue(listed.parts[0]);
  DimensionOrder order;
  for (const TorchValue& each : listed.parts) {
    const auto at = dimension(each, tensor.shape.size());
    if (at && std::ranges::count(order, *at) == 0) order.push_back(*at);
  }
  if (order.size() != tensor.shape.size()) return wrong("permute() of other dimensions");
  return reordered(tensor, order);
}

TorchValue TorchReader::made_of(TorchValue tensor, const std::string& dtype) {
  tensor.dtype = dtype;
  return tensor;
}

Result<TorchValue> TorchReader::converted(const TorchValue& tensor, const PyExpression& e) {
  FATUNE_TRY(const auto values, arguments(e, {"dtype", "device"}));
  const bool moved = values[0].kind == TorchType::kText;  // to a device, and perhaps a type
  const TorchValue& told = moved ? values[1] : values[0];
  const std::string& type = told.text;
  if (told.kind == TorchType::kNone) return tensor;
  if (tensor.is_made()) return made_of(tensor, last_name(type));
  const bool precise = type == "torch.float32" || type == "torch.float64";
  const bool known = told.kind == TorchType::kPath &&
                     (precise || dtype_of_torch(last_name(type)) || type == "torch.float");
  if (!known || (tensor.kind == TorchType::kTensor && !precise && type != "torch." + tensor.dtype))
    return wrong(fmt::format(".to({}) is not understood", type));
  return tensor;
}

Result<TorchValue> TorchReader::made_tensor(const PyExpression& e) {
  TorchValue made{.kind = TorchType::kTensor, .dtype = "float32"};
  FATUNE_TRY(TorchValue sizes, list({.kind = PyExpression::Kind::kList,
                                     .parts = {e.parts.begin() + 1, e.parts.end()}}));
  if (sizes.parts.size() == 1 && sizes.parts[0].kind == TorchType::kList)
    sizes = TorchValue(sizes.parts[0]);
  for (const TorchValue& size : sizes.parts) {
    if (size.kind != TorchType::kWhole) return wrong("a size of a tensor is not a whole number");
    made.order.push_back(made.shape.size());
    made.shape.push_back(size.whole);
  }
  for (const auto& [name, expression] : e.keywords) {
    FATUNE_TRY(const TorchValue value, value_of(expression));
    if (name == "dtype" && value.kind == TorchType::kPath)
      made.dtype = last_name(value.text);
    else if (name != "device" && name != "requires_grad" && name != "generator")
      return wrong(fmt::format("'{}=' is not understood", name));
  }
  return made;
}

/// It has the shape of the other, and its order in memory.
Result<TorchValue> TorchReader::made_like(const PyExpression& e) {
  FATUNE_TRY(const auto values, arguments(e, {"input"}));
  if (values[0].is_made()) return values[0];
  return wrong("a tensor is made like one that is none");
}

Result<Problem> TorchReader::scaled(const Problem& p, const TorchValue& scale) const {
  if (scale.kind == TorchType::kNone) return p;
  if (!scale.is_number()) return wrong("scale= is no number");
  if (std::abs(scale.number() - scale_of(p)) <= kScaleError * scale_of(p)) return p;
  return with_scale(p, scale.number());
}

Result<Mask> TorchReader::mask_of(const TorchValue& mask, const TorchValue& causal,
                                  const Problem& p) const {
  const bool is_causal = causal.kind == TorchType::kBoolean && causal.whole == 1;
  if (causal.kind != TorchType::kBoolean && causal.kind != TorchType::kNone)
    return wrong("is_causal= is neither True nor False");
  if (mask.kind == TorchType::kLowerRight && !is_causal) {
    if (mask.shape[0] == p.seq_q && mask.shape[1] == p.seq_kv) return Mask::kCausal;
    return wrong("causal_lower_right() has other lengths than q and k");
  }
  if (mask.kind != TorchType::kNone)
    return wrong("attn_mask= is given: no mask but causal is known");
  if (is_causal && p.seq_q != p.seq_kv) {
    return wrong(
        "is_causal=True aligns the mask with the first key where q and k have different "
        "lengths; fatune aligns it with the last, as causal_lower_right() does");
  }
  return is_causal ? Mask::kCausal : Mask::kNone;
}

Status TorchReader::check_plain(const TorchValue& dropout, const TorchValue& grouped,
                                const Problem& p) const {
  if (dropout.kind != TorchType::kNone && !(dropout.is_number() && dropout.number() == 0))
    return wrong("dropout_p= is not 0");
  const bool groups = grouped.kind == TorchType::kBoolean && grouped.whole == 1;
  if (p.heads != p.kv_heads && !groups)
    return wrong("k and v have other heads than q, without enable_gqa=True");
  return {};
}

Result<TorchValue> TorchReader::attention(const PyExpression& e) {
  FATUNE_TRY(const auto values, arguments(e, {"query", "key", "value", "attn_mask", "dropout_p",
                                              "is_causal", "scale", "enable_gqa"}));
  const TorchValue &q = values[0], &k = values[1], &v = values[2];
  for (const TorchValue* each : {&q, &k, &v}) {
    if (each->kind != TorchType::kTensor)
      return wrong("query, key and value are not three arguments as they are given");
    if (each->origin.empty()) return wrong("attention is of a tensor that is made here");
    if (each->shape.size() != kTorchDimensions)
      return wrong(fmt::format("{} has {} dimensions, not 4", each->origin, each->shape.size()));
  }
  if (q.origin == k.origin || k.origin == v.origin || q.origin == v.origin)
    return wrong("query, key and value are not three tensors");
  if (k.shape != v.shape || k.shape[0] != q.shape[0] || k.shape[3] != q.shape[3])
    return wrong("q, k and v differ in batch or head_dim, or k and v in their sizes");
  TorchValue made{
      .kind = TorchType::kAttention, .shape = q.shape, .order = {0, 1, 2, 3}, .dtype = q.dtype};
  Problem& p = made.problem;
  p = {.batch = q.shape[0],
       .heads = q.shape[1],
       .kv_heads = k.shape[1],
       .seq_q = q.shape[2],
       .seq_kv = k.shape[2],
       .head_dim = q.shape[3]};
  FATUNE_TRY(p, scaled(p, values[6]));
  if (const Status valid = validate(p); !valid) return wrong(valid.error().message);
  FATUNE_TRY(p.mask, mask_of(values[3], values[5], p));
  FATUNE_TRY_STATUS(check_plain(values[4], values[7], p));
  FATUNE_TRY(p.layouts.q, laid_out(q));
  FATUNE_TRY(p.layouts.k, laid_out(k));
  FATUNE_TRY(p.layouts.v, laid_out(v));
  return made;
}

Result<Layout> TorchReader::laid_out(const TorchValue& tensor) const {
  if (tensor.order.back() + 1 != kTorchDimensions)
    return wrong(tensor.origin + "'s columns do not lie side by side");
  std::vector<std::int64_t> memory(kTorchDimensions);
  for (std::size_t i = 0; i < kTorchDimensions; ++i) memory[tensor.order[i]] = tensor.shape[i];
  return layout_of(tensor, memory);
}

}  // namespace fatune
