// bias.cpp: Parses, prints and checks the tensor that is added to scores.
#include "model/problem/bias.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "model/problem/problem.hpp"

namespace fatune {
namespace {

using Four = std::array<std::int64_t, 4>;

/// Contiguous in this order of dimensions, the innermost first.
Four dense_strides(const Four& shape, const Four& order) {
  Four strides{};
  std::int64_t step = 1;
  for (const std::int64_t dimension : order) {
    const auto at = static_cast<std::size_t>(dimension);
    strides[at] = shape[at] == 1 && at < 3 ? 0 : step;
    step *= shape[at];
  }
  return strides;
}

Four contiguous(const Four& shape) { return dense_strides(shape, {3, 2, 1, 0}); }

Result<Four> parse_four(std::string_view text, char separator, std::int64_t least,
                        std::string_view what) {
  const std::vector<std::string> parts = split(text, separator);
  Four numbers{};
  const auto wrong = [&] {
    return usage_error(
        fmt::format("bias '{}' is no {}: four whole numbers of at least {}", text, what, least));
  };
  if (parts.size() != numbers.size()) return wrong();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = parse_integer(trim(parts[i]));
    if (!number || *number < least || *number > kLargestTensor) return wrong();
    numbers[i] = *number;
  }
  return numbers;
}

/// Dimensions, the innermost first; those of size 1 come last.
Four order_in_memory(const Bias& bias) {
  Four order = {3, 2, 1, 0};
  std::ranges::stable_sort(order, {}, [&](std::int64_t i) {
    const std::int64_t stride = bias.strides[static_cast<std::size_t>(i)];
    return stride == 0 ? kLargestTensor + 1 : stride;
  });
  return order;
}

/// Describes elements that share a place, or lie too far apart; empty if there are none.
std::string places_fault(const Bias& bias) {
  if (bias.strides[3] < 1) return fmt::format("bias {} has keys in one place", name(bias));
  constexpr std::int64_t kMost = kLargestTensor / static_cast<std::int64_t>(sizeof(float));
  std::int64_t end = 1;
  for (const std::int64_t dimension : order_in_memory(bias)) {
    const auto at = static_cast<std::size_t>(dimension);
    const std::int64_t stride = bias.strides[at], size = bias.shape[at];
    if (size == 1) continue;
    if (stride < end) return fmt::format("bias {} has several elements in one place", name(bias));
    if (size > kMost / stride) return "bias would be larger than 1 TiB";
    end = size * stride;
  }
  return {};
}

}  // namespace

std::string_view name(BiasType type) {
  constexpr std::array<std::string_view, 3> kWords = {"input", "f32", "bool"};
  return kWords.at(static_cast<std::size_t>(type));
}

std::int64_t Bias::span() const {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) last += (shape[i] - 1) * strides[i];
  return last + 1;
}

std::string name(const Bias& bias) {
  std::string text = fmt::format("{}", fmt::join(bias.shape, ","));
  if (bias.type != BiasType::kInput) text += fmt::format(":{}", name(bias.type));
  if (bias.strides == contiguous(bias.shape)) return text;
  return text + fmt::format("@{}", fmt::join(bias.strides, ":"));
}

std::string slug(const Bias& bias) {
  std::string text = name(bias);
  std::ranges::replace_if(
      text, [](char c) { return c == ':' || c == ',' || c == '@'; }, '-');
  return text;
}

Result<Bias> parse_bias(std::string_view text) {
  const std::size_t at = text.find('@');
  const std::string_view front = trim(text.substr(0, at));
  const std::size_t colon = front.find(':');
  Bias bias;
  FATUNE_TRY(bias.shape,
             parse_four(front.substr(0, colon), ',', 1, "shape batch,heads,seq_q,seq_kv"));
  if (colon != std::string_view::npos) {
    const std::string_view type = front.substr(colon + 1);
    if (type != "input" && type != "f32" && type != "bool")
      return usage_error(fmt::format("bias type '{}' is not one of input, f32, bool", type));
    bias.type = type == "f32"    ? BiasType::kF32
                : type == "bool" ? BiasType::kBool
                                 : BiasType::kInput;
  }
  bias.strides = contiguous(bias.shape);
  if (at == std::string_view::npos) return bias;
  FATUNE_TRY(bias.strides, parse_four(text.substr(at + 1), ':', 0, "list of strides"));
  for (std::size_t i = 0; i < 3; ++i) {
    if (bias.strides[i] == 0) bias.shape[i] = 1;  // as PyTorch's expand() leaves it
    if (bias.shape[i] == 1) bias.strides[i] = 0;
  }
  return bias;
}

FieldWord<Bias> word_of(const Bias*) {
  return {parse_bias, {}, "^[0-9]+(,[0-9]+){3}(:(input|f32|bool))?(@[0-9]+(:[0-9]+){3})?$"};
}

std::string bias_fault(const Attention& problem) {
  if (!problem.bias) return {};
  const Bias& bias = *problem.bias;
  const Four full = {problem.batch, problem.heads, problem.seq_q, problem.seq_kv};
  constexpr std::array<std::string_view, 4> kNames = {"batch", "heads", "seq_q", "seq_kv"};
  for (std::size_t i = 0; i < full.size(); ++i) {
    if (bias.shape[i] == full[i] || (bias.shape[i] == 1 && i < 3)) continue;
    return fmt::format("bias {} has {} {}, but must have {}{}", name(bias), bias.shape[i],
                       kNames[i], full[i], i < 3 ? " or 1" : "");
  }
  return places_fault(bias);
}

Bias resized(const Bias& bias, const Attention& from, const Attention& to) {
  const Four old = {from.batch, from.heads, from.seq_q, from.seq_kv};
  const Four full = {to.batch, to.heads, to.seq_q, to.seq_kv};
  Bias made = bias;
  for (std::size_t i = 0; i < full.size(); ++i)
    made.shape[i] = bias.shape[i] == 1 && (old[i] != 1 || i < 3) ? 1 : full[i];
  made.shape[3] = full[3];
  made.strides = dense_strides(made.shape, order_in_memory(bias));
  return made;
}

Bias contiguous(const Bias& bias) { return {bias.shape, contiguous(bias.shape), bias.type}; }

std::int64_t row_alignment(const Bias& bias, Dtype input) {
  if (bias.strides[3] != 1) return 0;
  const std::optional<Dtype> type = dtype_of(bias, input);
  const std::int64_t bytes = type ? size_of(*type) : static_cast<std::int64_t>(sizeof(float));
  std::int64_t alignment = 16;
  for (std::size_t i = 0; i < 3; ++i) alignment = std::gcd(alignment, bias.strides[i] * bytes);
  return alignment;
}

std::optional<Dtype> dtype_of(const Bias& bias, Dtype input) {
  if (bias.type == BiasType::kF32) return std::nullopt;
  return bias.type == BiasType::kBool ? Dtype::kE4m3 : input;
}

}  // namespace fatune
