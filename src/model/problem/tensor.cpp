// tensor.cpp: Computes sizes and element positions of a problem's tensors, and lists their fields.
#include "model/problem/tensor.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

constexpr std::array kDescales = {"q_descale", "k_descale", "v_descale"};
constexpr std::array<std::string_view, 5> kFillKinds = {"normal", "uniform", "constant", "whole",
                                                        "file"};

template <typename Wanted>
std::vector<TensorPlan> select(const std::vector<TensorPlan>& tensors, const Wanted& wanted) {
  std::vector<TensorPlan> chosen;
  std::ranges::copy_if(tensors, std::back_inserter(chosen), wanted);
  return chosen;
}

}  // namespace

std::int64_t TensorPlan::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product *= size;
  return product;
}

std::string_view TensorPlan::type_word() const {
  return type ? fatune::name(*type) : fatune::name(plain);
}

std::size_t TensorPlan::width() const {
  return type ? static_cast<std::size_t>(size_of(*type)) : plain_facts(plain).bytes;
}

std::int64_t TensorPlan::span() const {
  if (strides.empty()) return elements();
  std::int64_t last = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) last += (shape[i] - 1) * strides[i];
  return last + 1;
}

std::int64_t TensorPlan::row_offset(std::int64_t row) const {
  if (strides.empty()) return row * columns();
  std::int64_t offset = 0;
  for (std::size_t i = shape.size() - 1; i-- > 0; row /= shape[i])
    offset += row % shape[i] * strides[i];
  return offset;
}

std::vector<BufferPlan> buffers_of(const std::vector<TensorPlan>& tensors) {
  std::vector<BufferPlan> buffers;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorPlan& tensor = tensors[i];
    const std::string& name = tensor.buffer.empty() ? tensor.name : tensor.buffer;
    auto buffer = std::ranges::find(buffers, name, &BufferPlan::name);
    if (buffer == buffers.end()) buffer = buffers.insert(buffer, {name, {}, 0, false});
    buffer->tensors.push_back(i);
    const auto end = static_cast<std::size_t>(tensor.first + tensor.span()) * tensor.width();
    buffer->bytes = std::max(buffer->bytes, end);
  }
  for (BufferPlan& buffer : buffers) {
    std::size_t filled = 0;
    for (const std::size_t i : buffer.tensors) filled += tensors[i].bytes();
    buffer.gaps = filled < buffer.bytes;
  }
  return buffers;
}

std::string describe_place(const TensorPlan& tensor, std::int64_t element) {
  std::vector<std::string> positions(tensor.shape.size());
  for (std::size_t i = tensor.shape.size(); i-- > 0;) {
    const std::int64_t at = element % tensor.shape[i];
    positions[i] =
        tensor.axes.empty() ? fmt::format("{}", at) : fmt::format("{} {}", tensor.axes[i], at);
    element /= tensor.shape[i];
  }
  if (!tensor.axes.empty()) return join(positions, ", ");
  return fmt::format("{}[{}]", tensor.name, join(positions, ", "));
}

std::string describe_head(const TensorPlan& tensor, std::int64_t head) {
  return fmt::format("batch {}, head {}", head / tensor.shape[1], head % tensor.shape[1]);
}

std::string describe_elements(const TensorPlan& tensor) {
  return tensor.noun.empty() ? fmt::format("elements of {}", tensor.name) : tensor.noun;
}

std::vector<TensorPlan> OperationPlan::inputs() const {
  return select(tensors, [](const TensorPlan& each) { return !each.output || each.filled; });
}
std::vector<TensorPlan> OperationPlan::outputs() const {
  return select(tensors, [](const TensorPlan& each) { return each.output; });
}
bool OperationPlan::fills_outputs() const {
  return std::ranges::any_of(tensors, &TensorPlan::filled);
}

bool OperationPlan::all_from_files() const {
  return std::ranges::all_of(
      inputs(), [](const TensorPlan& each) { return each.fill.kind == Fill::Kind::kFile; });
}

bool OperationPlan::has_low_precision() const {
  const auto rounded = [](const TensorPlan& each) { return each.output && !each.whole(); };
  return !tolerance && std::ranges::any_of(tensors, rounded);
}

std::string_view name(Fill::Kind kind) { return kFillKinds.at(static_cast<std::size_t>(kind)); }

static Result<Fill::Kind> parse_fill_kind(std::string_view text) {
  for (std::size_t i = 0; i < kFillKinds.size(); ++i) {
    if (kFillKinds[i] == text) return static_cast<Fill::Kind>(i);
  }
  return usage_error(fmt::format("a fill of kind '{}' is unknown", text));
}

FieldWord<Fill::Kind> word_of(const Fill::Kind*) { return {.parse = parse_fill_kind}; }

void fields(Fill& x, FieldList& f) {
  f("scale", x.scale).required().finite();
  f("offset", x.offset).required().finite();
  f("kind", x.kind).required();
  f("file", x.file);
}

void fields(TensorPlan& x, FieldList& f) {
  f("name", x.name).required();
  f("type", x.type);
  f("plain", x.plain);
  f("shape", x.shape).required().filled().at_least(1);
  f("output", x.output);
  f("fill", x.fill).required();
  f("filled", x.filled);
}

void fields(DeclaredTolerance& x, FieldList& f) {
  f("absolute", x.absolute).required().finite();
  f("relative", x.relative).required().finite();
  f("why", x.why);
}

void fields(OperationPlan& x, FieldList& f) {
  f("tensors", x.tensors);
  f("tolerance", x.tolerance);
}

/// Returns a tensor of attention, placed by the problem's layout.
static TensorPlan attention_tensor(const Attention& problem, const std::string& name, bool output) {
  const TensorSizes sizes = sizes_of(problem, name);
  TensorPlan tensor;
  tensor.name = name;
  tensor.type = dtype_of(problem, name);
  tensor.shape = {sizes.batch, sizes.heads, sizes.rows, sizes.columns};
  tensor.output = output;
  tensor.axes = {"batch", "head", "row", "column"};
  if (output) tensor.noun = "outputs";
  const LayoutKind kind = problem.layouts.of(name).kind;
  if (kind == LayoutKind::kBhsd) return tensor;
  const auto strides = strides_of(problem, name).all();
  tensor.strides.assign(strides.begin(), strides.end());
  if (kind == LayoutKind::kPacked) tensor.buffer = "qkv";
  tensor.first = packed_offset(problem, name);
  return tensor;
}

/// Keys that are not neighbours are rows of one column.
static TensorPlan bias_tensor(const Attention& problem) {
  const Bias& bias = *problem.bias;
  TensorPlan tensor;
  tensor.name = "bias";
  tensor.type = dtype_of(bias, problem.dtype);
  tensor.shape.assign(bias.shape.begin(), bias.shape.end());
  tensor.strides.assign(bias.strides.begin(), bias.strides.end());
  if (bias.strides.back() != 1) {
    tensor.shape.push_back(1);
    tensor.strides.push_back(1);
  }
  // The name has strides unless the bias is contiguous. Without gaps alone it may be permuted.
  if (name(bias).find('@') == std::string::npos) tensor.strides.clear();
  return tensor;
}

std::vector<TensorPlan> optional_tensors(const Attention& p) {
  const Lengths& lengths = p.mask.lengths;
  std::vector<TensorPlan> found;
  if (p.bias) found.push_back(bias_tensor(p));
  if (lengths.kind != LengthsKind::kNone) {
    const std::int64_t count = lengths.repeats() ? p.batch : lengths.documents() + 1;
    found.push_back({"lengths", std::nullopt, {count}});
    found.back().plain = PlainType::kI32;
  }
  if (p.alibi) found.push_back({"alibi", std::nullopt, {p.heads}});
  if (p.sink) found.push_back({"sink", p.dtype, {p.heads}});
  for (const NamedTensor& each : p.tensors) found.push_back(plan_of(each));
  return found;
}

OperationPlan attention_plan(const Attention& p) {
  OperationPlan plan;
  for (const char* name : {"q", "k", "v"}) plan.tensors.push_back(attention_tensor(p, name, false));
  if (has_descales(p)) {
    for (const char* name : kDescales) {
      plan.tensors.push_back({name, std::nullopt, {p.batch, p.kv_heads}, false, {}});
    }
  }
  for (TensorPlan& each : optional_tensors(p)) plan.tensors.push_back(std::move(each));
  plan.tensors.push_back(attention_tensor(p, "out", true));
  if (!p.lse) return plan;
  plan.tensors.push_back({"lse",
                          std::nullopt,
                          {p.batch, p.heads, p.seq_q},
                          true,
                          {},
                          {"batch", "head", "row"},
                          "log-sum-exps"});
  return plan;
}

OperationPlan plan_of(const Problem& problem, const std::optional<OperationPlan>& declared) {
  return declared ? *declared : attention_plan(problem.as_attention());
}

}  // namespace fatune
