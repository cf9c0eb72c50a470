// inputs.cpp: Draws elements from counter-based random bits, and copies rows to their places.
#include "worker/verify/inputs.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/parallel.hpp"
#include "model/problem/data_file.hpp"
#include "worker/verify/not_finite.hpp"
#include "worker/verify/quantize.hpp"

namespace fatune {
namespace {

constexpr std::size_t kGroup = 4;                    // elements from one draw of 64 bits
constexpr std::size_t kGroupsOfAThread = 32 * 1024;  // chosen: some 100 us of work
constexpr float kLastValue = 64;     // chosen: a row that wrongly sees it is off by 64/S
constexpr float kOutlierScale = 10;  // a standard deviation: N(0,100)

/// Streams of random bits: draws, places of outliers, and values of outliers.
struct Streams {
  std::uint64_t draws, outliers, added;
};
constexpr Streams kQueries{1, 17, 33}, kKeys{2, 18, 34}, kValues{3, 19, 35};
constexpr std::uint64_t kMagnitudes = 4;  // of the heads of fp8

Streams declared_streams(std::uint64_t input) {
  const std::uint64_t stream = 1024 + input;
  return {stream, (1 << 20) + stream, (1 << 21) + stream};
}

float uniform_value(std::uint16_t draw) {
  return (2.0f * static_cast<float>(draw) + 1.0f) / 65536.0f - 1.0f;
}

/// The way in which the elements of a tensor are drawn.
struct Recipe {
  Fill fill;
  Streams streams;
  bool outliers = false;          ///< N(0,100) added to one element in 1024:
  bool added_to_element = false;  ///< to what is stored, else to what is drawn
};

template <typename Element>
Element element_of(const std::optional<Dtype>& type, double value) {
  if constexpr (sizeof(Element) == sizeof(double)) {
    return std::bit_cast<Element>(value);
  } else if constexpr (sizeof(Element) == sizeof(float)) {
    return std::bit_cast<Element>(static_cast<float>(value));
  } else {
    return static_cast<Element>(encode(*type, static_cast<float>(value)));
  }
}

float drawn_value(const Fill& fill, std::uint16_t draw) {
  return fill.kind == Fill::Kind::kUniform ? uniform_value(draw) : normal_value(draw);
}

/// The element of every draw, rounded once for the whole tensor.
template <typename Element>
std::vector<Element> element_table(const std::optional<Dtype>& type, const Fill& fill) {
  std::vector<Element> table(kDraws);
  for (std::size_t draw = 0; draw < kDraws; ++draw) {
    const double value = drawn_value(fill, static_cast<std::uint16_t>(draw));
    table[draw] = element_of<Element>(type, fill.offset + fill.scale * value);
  }
  return table;
}

/// An element with the outlier at its place.
template <typename Element>
double outlier(const std::optional<Dtype>& type, const Recipe& recipe, Element element,
               std::uint16_t draw, float added) {
  if constexpr (sizeof(Element) < sizeof(float)) {
    if (recipe.added_to_element)
      return decode(*type, element) + static_cast<float>(recipe.fill.scale) * added;
  }
  const double sum = static_cast<double>(drawn_value(recipe.fill, draw)) + added;
  return recipe.fill.offset + recipe.fill.scale * sum;
}

/// Draws four elements from every 64 random bits.
template <typename Element>
void fill_random(std::span<Element> tensor, const std::optional<Dtype>& type, const Recipe& recipe,
                 std::uint64_t seed) {
  const auto table = element_table<Element>(type, recipe.fill);
  const auto fill = [&](std::size_t begin, std::size_t end) {
    for (std::size_t group = begin; group < end; ++group) {
      const std::uint64_t bits = random_bits(seed, recipe.streams.draws, group);
      const std::uint64_t where =
          recipe.outliers ? random_bits(seed, recipe.streams.outliers, group) : ~std::uint64_t{0};
      const std::size_t count = std::min(kGroup, tensor.size() - kGroup * group);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = kGroup * group + i;
        const auto draw = static_cast<std::uint16_t>(bits >> (16 * i));
        tensor[at] = table[draw];
        if (((where >> (16 * i)) & 0x3ff) != 0) continue;
        const auto more = static_cast<std::uint16_t>(random_bits(seed, recipe.streams.added, at));
        const float added = kOutlierScale * normal_value(more);
        tensor[at] =
            element_of<Element>(type, outlier<Element>(type, recipe, tensor[at], draw, added));
      }
    }
  };
  parallel_for((tensor.size() + kGroup - 1) / kGroup, kGroupsOfAThread, fill);
}

template <typename Element>
std::vector<std::byte> make_elements(const TensorPlan& tensor, const Recipe& recipe,
                                     std::uint64_t seed) {
  std::vector<std::byte> bytes(tensor.bytes());
  const std::span<Element> all = elements<Element>(bytes);
  if (recipe.fill.kind == Fill::Kind::kConstant) {
    std::fill(all.begin(), all.end(), element_of<Element>(tensor.type, recipe.fill.offset));
  } else {
    fill_random(all, tensor.type, recipe, seed);
  }
  return bytes;
}

std::vector<std::byte> make_tensor(const TensorPlan& tensor, const Recipe& recipe,
                                   std::uint64_t seed) {
  if (tensor.whole()) return whole_elements(tensor, recipe.fill, seed, recipe.streams.draws);
  if (tensor.width() == 8) return make_elements<std::uint64_t>(tensor, recipe, seed);
  if (tensor.width() == 1) return make_elements<std::uint8_t>(tensor, recipe, seed);
  if (tensor.width() == 2) return make_elements<std::uint16_t>(tensor, recipe, seed);
  return make_elements<std::uint32_t>(tensor, recipe, seed);
}

/// Every column of the last key's value, in every head.
void set_last_values(const Attention& problem, float value, std::vector<std::byte>& bytes) {
  const auto tensor = elements<std::uint16_t>(bytes);
  const auto row = static_cast<std::size_t>(problem.value_columns());
  const auto head = static_cast<std::size_t>(problem.seq_kv) * row;
  for (std::size_t end = head; end <= tensor.size(); end += head) {
    std::fill_n(tensor.begin() + static_cast<std::ptrdiff_t>(end - row), row,
                encode(problem.dtype, value));
  }
}

/// From 1/2 to 2.
float magnitude(std::uint16_t draw) { return 0.5f + 1.5f * static_cast<float>(draw) / 65536.0f; }

/// Multiplies the elements of one of `parts` equal parts.
void scale_part(std::vector<std::byte>& bytes, Dtype dtype, std::size_t parts, std::size_t part,
                float factor) {
  const auto tensor = elements<std::uint16_t>(bytes);
  const std::size_t size = tensor.size() / parts;
  const auto scaled = tensor.subspan(part * size, size);
  recode<std::uint16_t>(scaled, dtype, scaled, dtype, [&](float value) { return value * factor; });
}

/// Multiplies draws by the factor. A factor of 0 gives zeros alone.
Recipe attention_recipe(const Streams& streams, Distribution how, double factor) {
  const auto kind = factor == 0                     ? Fill::Kind::kConstant
                    : how == Distribution::kUniform ? Fill::Kind::kUniform
                                                    : Fill::Kind::kNormal;
  return {{kind, factor, 0}, streams, how == Distribution::kOutliers, true};
}

template <typename Element>
std::vector<std::byte> bytes_of(const std::vector<Element>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

Recipe declared_recipe(const Streams& streams, Distribution how, Fill fill) {
  if (fill.kind == Fill::Kind::kWhole) {
    if (how == Distribution::kZeros)  // or the value nearest to 0
      fill = {Fill::Kind::kConstant, 1, std::clamp(0.0, fill.offset, fill.offset + fill.scale)};
    return {fill, streams};
  }
  if (fill.kind != Fill::Kind::kConstant) {
    if (how == Distribution::kZeros) fill.kind = Fill::Kind::kConstant;
    if (how == Distribution::kUniform) fill.kind = Fill::Kind::kUniform;
  }
  return {fill, streams, how == Distribution::kOutliers, false};
}

}  // namespace

double unit_of_queries(const Attention& problem) {
  if (!problem.scale) return 1;
  const double most = problem.dtype == Dtype::kF16 ? 0x1p8 : 0x1p64;
  return std::min(most, 1 / (std::sqrt(static_cast<double>(problem.head_dim)) * *problem.scale));
}

/// Numbers are zeros where q is, else N(0,1). With outliers every eighth is -infinity, and those of
/// the first row are so low that they hide their keys. A quarter of booleans hides keys, and in a
/// uniform input the first row hides all.
static std::vector<std::byte> bias_elements(const Attention& problem, const InputCase& which) {
  constexpr std::uint64_t kPlaces = 52;  // a stream of its own
  const Distribution how = which.distribution;
  const Bias& bias = *problem.bias;
  std::vector<std::byte> made;
  const auto hide = [&](auto all, auto value, std::uint64_t one_in) {
    for (std::size_t i = 0; i < all.size(); ++i)
      if (random_bits(which.seed, kPlaces, i) % one_in == 0) all[i] = value;
  };
  if (bias.type == BiasType::kBool) {
    made.assign(static_cast<std::size_t>(bias.elements()), std::byte{1});
    if (how != Distribution::kNotFinite) hide(std::span(made), std::byte{0}, 4);
    if (how == Distribution::kUniform) std::fill_n(made.begin(), bias.shape[3], std::byte{0});
    return made;
  }
  const bool zeros = how == Distribution::kZeros || how == Distribution::kZeroQ;
  TensorPlan plan;
  plan.type = dtype_of(bias, problem.dtype);
  plan.shape.assign(bias.shape.begin(), bias.shape.end());
  constexpr Streams kBias{4, 20, 36};
  made = make_tensor(plan, attention_recipe(kBias, how, zeros ? 0 : 1), which.seed);
  if (how != Distribution::kOutliers) return made;
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  constexpr float kFarBelow = -3e38f;  // finite in bf16 and fp32
  const auto hide_some = [&](auto all, auto hidden, auto far_below) {
    hide(all, hidden, 8);
    std::fill_n(all.begin(), bias.shape[3], far_below);
  };
  if (bias.type == BiasType::kF32) {
    hide_some(elements<float>(made), kHidden, kFarBelow);
  } else {
    hide_some(elements<std::uint16_t>(made), encode(problem.dtype, kHidden),
              encode(problem.dtype, kFarBelow));
  }
  return made;
}

static std::vector<std::byte> slopes(const Attention& problem, Distribution how) {
  constexpr double kSteep = 4;  // chosen: only the nearest keys count
  const double factor = how == Distribution::kOutliers ? kSteep : 1;
  std::vector<float> values;
  for (std::int64_t head = 1; head <= problem.heads; ++head) {
    const double exponent = 8 * static_cast<double>(head) / static_cast<double>(problem.heads);
    values.push_back(static_cast<float>(factor * exp_minus(exponent * std::numbers::ln2)));
  }
  return bytes_of(values);
}

static std::vector<std::byte> sinks(const Attention& problem, const InputCase& which) {
  constexpr std::uint64_t kSinks = 53;  // a stream of its own
  // Chosen: a usual sink weighs as dozens of keys; below the highest, weights of keys stay in f16.
  constexpr float kUsual = 4, kAbove = 8, kBelow = -40;
  const Distribution how = which.distribution;
  const bool no_share =
      how == Distribution::kOnesV || how == Distribution::kZeros || how == Distribution::kZeroQ;
  std::vector<std::uint16_t> values;
  for (std::int64_t head = 0; head < problem.heads; ++head) {
    const std::uint64_t bits = random_bits(which.seed, kSinks, static_cast<std::uint64_t>(head));
    const float usual = kUsual + normal_value(static_cast<std::uint16_t>(bits));
    const float far = no_share || head % 2 == 1 ? kBelow : kAbove;
    values.push_back(
        encode(problem.dtype, no_share || how == Distribution::kUniform ? far : usual));
  }
  return bytes_of(values);
}

template <typename Value>
static std::vector<std::byte> values_of(const NamedTensor& named) {
  std::vector<Value> values;
  for (const NamedTensor::Run& run : named.runs)
    values.resize(static_cast<std::size_t>(run.end), static_cast<Value>(run.value));
  return bytes_of(values);
}

/// Returns the declared values, or draws of N(0,1); zeros where the distribution has q of zeros.
static std::vector<std::byte> named_elements(const Attention& problem, const TensorPlan& plan,
                                             const InputCase& which) {
  constexpr std::uint64_t kNamed = 512;  // streams of no other tensor
  const auto named = std::ranges::find(problem.tensors, plan.name, argument_of);
  if (named->runs.empty()) {
    const Distribution how = which.distribution;
    const bool zeros = how == Distribution::kZeros || how == Distribution::kZeroQ;
    const auto nth = kNamed + static_cast<std::uint64_t>(named - problem.tensors.begin());
    const Streams streams{nth, nth + 16, nth + 32};
    return make_tensor(plan, attention_recipe(streams, how, zeros ? 0 : 1), which.seed);
  }
  return plan.is(PlainType::kI32) ? values_of<std::int32_t>(*named) : values_of<float>(*named);
}

std::vector<HostTensor> optional_inputs(const Attention& problem, const InputCase& which) {
  std::vector<HostTensor> made;
  for (const TensorPlan& tensor : optional_tensors(problem)) {
    const std::string& name = tensor.name;
    made.push_back({name, name == "bias"      ? bias_elements(problem, which)
                          : name == "lengths" ? bytes_of(lengths_tensor(problem))
                          : name == "alibi"   ? slopes(problem, which.distribution)
                          : name == "sink"    ? sinks(problem, which)
                                              : named_elements(problem, tensor, which)});
  }
  return made;
}

/// Makes the inputs in the type that attention is computed in, before any quantization.
static HostInputs plain_inputs(const Attention& problem, const InputCase& which, int v_doublings) {
  const Distribution how = which.distribution;
  const bool zeros = how == Distribution::kZeros;
  const double unit = unit_of_queries(problem);
  const double q_factor = zeros || how == Distribution::kZeroQ ? 0
                          : how == Distribution::kLargeLogits  ? 8 * unit
                                                               : unit;
  const float v_factor = std::ldexp(1.0f, v_doublings);
  Recipe values = attention_recipe(kValues, how, v_factor);
  if (how == Distribution::kOnesV) values.fill = {Fill::Kind::kConstant, 1, v_factor};
  const std::vector<TensorPlan> tensors = attention_plan(problem).tensors;
  HostInputs inputs;
  inputs.q = make_tensor(tensors[0], attention_recipe(kQueries, how, q_factor), which.seed);
  inputs.k = make_tensor(tensors[1], attention_recipe(kKeys, how, zeros ? 0 : 1), which.seed);
  inputs.v = make_tensor(tensors[2], values, which.seed);
  inputs.optional = optional_inputs(problem, which);
  if (how != Distribution::kLastKey) return inputs;
  const float last = kLastValue * v_factor;
  set_last_values(problem, last, inputs.v);
  return inputs;
}

HostInputs make_inputs(const Attention& problem, const InputCase& which, int v_doublings) {
  if (has_descales(problem))
    return quantize(problem, unquantized_inputs(problem, which, v_doublings));
  HostInputs inputs = is_fused(problem) ? unquantized_inputs(problem, which, v_doublings)
                                        : plain_inputs(problem, which, v_doublings);
  if (which.distribution == Distribution::kNotFinite) spoil(problem, inputs);
  return inputs;
}

HostInputs unquantized_inputs(const Attention& problem, const InputCase& which, int v_doublings) {
  HostInputs inputs = plain_inputs(unquantized(problem), which, v_doublings);
  const Dtype dtype = out_dtype(problem);
  const auto heads = static_cast<std::size_t>(problem.batch * problem.kv_heads);
  for (std::size_t head = 0; head < heads; ++head) {
    // Scores keep their size.
    const std::uint64_t bits = random_bits(which.seed, kMagnitudes, head);
    const float of_keys = magnitude(static_cast<std::uint16_t>(bits));
    scale_part(inputs.q, dtype, heads, head, 1 / of_keys);
    scale_part(inputs.k, dtype, heads, head, of_keys);
    if (smooths_k(problem)) offset_keys(problem, which, head, of_keys, inputs.k);
    if (which.distribution == Distribution::kOnesV) continue;
    scale_part(inputs.v, dtype, heads, head, magnitude(static_cast<std::uint16_t>(bits >> 16)));
  }
  return inputs;
}

HostInputs with_magnitudes_of_v(HostInputs inputs) {
  constexpr std::byte kAllButSign{0x7f};
  for (std::byte& element : inputs.v) element &= kAllButSign;
  return inputs;
}

std::vector<HostTensor> declared_inputs(const OperationPlan& plan, const InputCase& which) {
  std::vector<HostTensor> inputs;
  for (const TensorPlan& tensor : plan.inputs()) {
    if (tensor.fill.kind == Fill::Kind::kFile) {
      auto read = read_data(tensor.fill.file, tensor);
      FATUNE_CHECK(static_cast<bool>(read), "data files stay as they were when the run began");
      inputs.push_back({tensor.name, *std::move(read)});
      continue;
    }
    const Recipe recipe =
        declared_recipe(declared_streams(inputs.size()), which.distribution, tensor.fill);
    inputs.push_back({tensor.name, make_tensor(tensor, recipe, which.seed)});
  }
  return inputs;
}

std::vector<HostTensor> input_tensors(const Problem& problem, const OperationPlan& plan,
                                      const InputCase& which, int v_doublings) {
  if (problem.custom()) return declared_inputs(plan, which);
  return host_tensors(make_inputs(problem.as_attention(), which, v_doublings));
}

std::vector<HostTensor> host_tensors(HostInputs inputs) {
  std::vector<HostTensor> tensors = {
      {"q", std::move(inputs.q)}, {"k", std::move(inputs.k)}, {"v", std::move(inputs.v)}};
  if (!inputs.q_descale.empty()) {
    tensors.push_back({"q_descale", bytes_of(inputs.q_descale)});
    tensors.push_back({"k_descale", bytes_of(inputs.k_descale)});
    tensors.push_back({"v_descale", bytes_of(inputs.v_descale)});
  }
  for (HostTensor& each : inputs.optional) tensors.push_back(std::move(each));
  return tensors;
}

}  // namespace fatune
