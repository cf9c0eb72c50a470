// layer.cpp: Plans the products around attention, fills their memory, and captures the layers.
#include "worker/timing/layer.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "model/problem/tensor.hpp"
#include "model/results/statistics.hpp"
#include "worker/verify/inputs.hpp"

namespace fatune {
namespace {

constexpr std::int64_t kLeastLayers = 3, kMostLayers = 64;
// Chosen: the weights of all layers are this many times the L2 cache. A model's other weights pass
// through the cache, too. If all weights just fit, chance decides which of them stay. Cached keys
// do not count, because the layers without attention never read them.
constexpr std::int64_t kWeightsOverL2 = 2;
constexpr double kMostKeyBytes = 8e9;  // chosen: cached keys and values of all layers
constexpr double kLayersFlops = 6e12;  // chosen: of attention in all layers, some milliseconds
constexpr std::size_t kBlockElements = std::size_t{1} << 20;
constexpr std::size_t kBlockStep = 2 * 777'767;  ///< bytes; prime to the block, but for the 2
constexpr std::uint64_t kWeightSeed = 2024;
constexpr const char* kHidden = "hidden";
constexpr const char* kResult = "result";

/// The stride from token to token if a product can write (or read) the heads of a token side by
/// side. Otherwise the memory counts as dense.
std::int64_t token_pitch(const Attention& problem, const std::string& tensor) {
  const TensorSizes sizes = sizes_of(problem, tensor);
  const Strides strides = strides_of(problem, tensor);
  const bool by_token = (sizes.heads == 1 || strides.head == sizes.columns) &&
                        (sizes.batch == 1 || strides.batch == sizes.rows * strides.row);
  return by_token ? strides.row : sizes.heads * sizes.columns;
}

LayerProduct make_product(const Attention& problem, std::int64_t tokens, std::string from,
                          std::int64_t from_pitch, std::int64_t columns, std::int64_t inner,
                          std::string to, std::int64_t to_pitch) {
  const GemmType type = problem.dtype == Dtype::kF16 ? GemmType::kF16 : GemmType::kBf16;
  LayerProduct made{{}, std::move(from), std::move(to), 1};
  GemmPlan& plan = made.plan;
  plan.m = tokens, plan.n = columns, plan.k = inner;
  plan.operands[0] = {"tokens", type, tokens, inner, from_pitch, 0, false};
  plan.operands[1] = {"weights", type, columns, inner, inner, 0, true};
  plan.operands[2] = {"result", type, tokens, columns, to_pitch, 0, false};
  return made;
}

/// As many layers as the weights need, unless they take too long or too much memory.
std::int64_t layers_of(const LayerPlan& plan, const Attention& problem, std::int64_t l2_bytes) {
  std::int64_t bytes = 0;
  for (const LayerProduct& each : plan.before) bytes += 2 * each.plan.n * each.plan.k;
  bytes += 2 * plan.after.plan.n * plan.after.plan.k;
  const std::int64_t wanted = (kWeightsOverL2 * l2_bytes + bytes - 1) / bytes;
  double affordable = kLayersFlops / flops(problem).value;
  if (plan.cached_keys) {
    const auto of_keys = static_cast<double>((key_bytes(problem) + value_bytes(problem)).value);
    affordable = std::min(affordable, kMostKeyBytes / of_keys);
  }
  const auto most = static_cast<std::int64_t>(affordable);
  return std::clamp(std::min(wanted, most), kLeastLayers, kMostLayers);
}

/// Tokens and weights from one random stream would be multiples of each other, and scores far too
/// large.
std::vector<std::uint16_t> normal_block(Dtype dtype, double scale) {
  std::vector<std::uint16_t> block(kBlockElements);
  const std::uint64_t stream = scale == 1 ? 0 : 1;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const auto draw = static_cast<std::uint16_t>(random_bits(kWeightSeed, stream, i));
    block[i] = encode(dtype, static_cast<float>(scale) * normal_value(draw));
  }
  return block;
}

constexpr int kTurnTries = 6;  // chosen: at the power limit about two in three are steady

bool is_steady(double before_us, double behind_us, double attention_us) {
  return std::abs(behind_us - before_us) <= kSteadyLayer * std::max(before_us, attention_us);
}

}  // namespace

Result<LayerPlan> layer_plan(const Attention& problem, std::int64_t l2_bytes) {
  if (size_of(problem.dtype) != 2)
    return usage_error("the products of a layer are in f16 or bf16, not in 8-bit floats");
  LayerPlan plan;
  plan.cached_keys = problem.seq_q != problem.seq_kv;
  plan.tokens = problem.batch * problem.seq_q;
  plan.hidden = problem.heads * problem.head_dim;
  const std::vector<TensorPlan> inputs = attention_plan(problem).inputs();
  for (const BufferPlan& buffer : buffers_of(inputs)) {
    const std::string& first = inputs[buffer.tensors.front()].name;
    if (is_optional(first) || (plan.cached_keys && first != "q")) continue;
    std::int64_t columns = 0;
    for (const std::size_t i : buffer.tensors) columns += inputs[i].shape[1] * inputs[i].shape[3];
    plan.before.push_back(make_product(problem, plan.tokens, kHidden, plan.hidden, columns,
                                       plan.hidden, buffer.name,
                                       std::max(columns, token_pitch(problem, first))));
    if (first != "q") continue;
    const double unit = unit_of_queries(problem);
    plan.before.back().factor = buffer.tensors.size() == 1 ? unit : std::sqrt(unit);
  }
  const std::int64_t inner = problem.heads * problem.value_columns();
  plan.after =
      make_product(problem, plan.tokens, "out", std::max(inner, token_pitch(problem, "out")),
                   plan.hidden, inner, kResult, plan.hidden);
  plan.layers = layers_of(plan, problem, l2_bytes);
  return plan;
}

Result<std::unique_ptr<Layer>> Layer::make(const gpu::Context& context, CUstream stream,
                                           const Attention& problem, std::int64_t l2_bytes,
                                           Sampler& sampler, const OpenGemm& open_gemm) {
  FATUNE_TRY(LayerPlan plan, layer_plan(problem, l2_bytes));
  std::unique_ptr<Layer> layer(new Layer(stream, problem, std::move(plan)));
  std::size_t workspace = 0;
  const auto open = [&](const LayerProduct& each) -> Status {
    FATUNE_TRY(auto gemm, open_gemm(each.plan));
    workspace = std::max(workspace, gemm->workspace_bytes());
    layer->products_.push_back(std::move(gemm));
    return {};
  };
  for (std::size_t i = 0; i <= layer->plan_.before.size(); ++i)
    FATUNE_TRY_STATUS(open(layer->product(i)));
  FATUNE_TRY(layer->workspace_, gpu::make_buffer(context, workspace));
  FATUNE_TRY_STATUS(layer->allocate(context));
  // The first call is outside of a capture, because the library may load code.
  for (std::size_t i = 0; i < layer->products_.size(); ++i)
    FATUNE_TRY_STATUS(layer->queue_product(i, 0));
  FATUNE_TRY_STATUS(layer->make_loop_without(sampler));
  return layer;
}

/// Each piece begins at another place of the block. Equal weights would make q and k equal, also
/// within one buffer, because rows of 1024 weights repeat in a block of 2^20.
Status Layer::fill(CUdeviceptr to, std::size_t bytes, double scale) {
  if (block_.empty() || scale != block_scale_) {
    block_ = normal_block(problem_.dtype, scale);
    block_scale_ = scale;
  }
  const auto block = std::as_bytes(std::span(block_));
  for (std::size_t at = 0; at < bytes;) {
    block_start_ = (block_start_ + kBlockStep) % block.size();
    const std::size_t part = std::min(block.size() - block_start_, bytes - at);
    FATUNE_TRY_STATUS(gpu::copy_to_device(to + at, block.subspan(block_start_, part), stream_));
    at += part;
  }
  return {};
}

Result<GuardedBuffer> Layer::filled(const gpu::Context& context, const std::string& name,
                                    std::size_t bytes, std::uint8_t guard) {
  FATUNE_TRY(GuardedBuffer buffer, GuardedBuffer::make(context, name, bytes, guard, stream_));
  FATUNE_TRY_STATUS(fill(buffer.address(), bytes, 1));
  return buffer;
}

bool Layer::is_cached(const std::string& name) const {
  return plan_.cached_keys && (name == "k" || name == "v");
}

Status Layer::allocate(const gpu::Context& context) {
  const std::size_t row_block = static_cast<std::size_t>(plan_.tokens * plan_.hidden) * 2;
  const OperationPlan tensors = attention_plan(problem_);
  const auto add = [&](const std::string& name, std::size_t bytes, std::uint8_t guard) -> Status {
    FATUNE_TRY(GuardedBuffer buffer, filled(context, name, bytes, guard));
    memory_.push_back(std::move(buffer));
    return {};
  };
  FATUNE_TRY_STATUS(add(kHidden, row_block, kNanByte));
  FATUNE_TRY_STATUS(add(kResult, row_block, kGuardByte));
  for (const BufferPlan& buffer : buffers_of(tensors.inputs())) {
    if (is_cached(buffer.name) || is_optional(buffer.name)) continue;
    FATUNE_TRY_STATUS(add(buffer.name, buffer.bytes, kNanByte));
  }
  std::vector<TensorPlan> optional = tensors.inputs();
  std::erase_if(optional, [](const TensorPlan& each) { return !is_optional(each.name); });
  FATUNE_TRY(auto uploaded, upload_inputs(context, stream_, optional,
                                          optional_inputs(problem_, {.seed = kWeightSeed})));
  std::ranges::move(uploaded, std::back_inserter(memory_));
  for (const BufferPlan& buffer : buffers_of(tensors.outputs()))
    FATUNE_TRY_STATUS(add(buffer.name, buffer.bytes, kGuardByte));
  weights_.resize(static_cast<std::size_t>(plan_.layers));
  return allocate_layers(context);
}

Status Layer::allocate_layers(const gpu::Context& context) {
  const std::vector<BufferPlan> inputs = buffers_of(attention_plan(problem_).inputs());
  for (Weights& layer : weights_) {
    for (const BufferPlan& input : inputs) {
      if (!is_cached(input.name)) continue;
      FATUNE_TRY(GuardedBuffer cached, filled(context, input.name, input.bytes, kNanByte));
      layer.cached.push_back(std::move(cached));
    }
  }
  const double scale = 1 / std::sqrt(static_cast<double>(plan_.hidden));
  for (Weights& layer : weights_) {
    for (std::size_t i = 0; i < products_.size(); ++i) {
      const GemmOperand& operand = product(i).plan.operands[1];
      const auto elements = static_cast<std::size_t>(operand.rows * operand.pitch);
      FATUNE_TRY(gpu::Buffer buffer, gpu::make_buffer(context, elements * 2));
      FATUNE_TRY_STATUS(fill(buffer.address(), buffer.bytes(), scale * product(i).factor));
      layer.products.push_back(std::move(buffer));
    }
  }
  return {};
}

/// Cached keys come from `layer`.
const GuardedBuffer& Layer::buffer(const std::string& name, std::size_t layer) const {
  const auto& among = is_cached(name) ? weights_[layer].cached : memory_;
  const auto found = std::ranges::find(among, name, &GuardedBuffer::name);
  FATUNE_CHECK(found != among.end(), "the plan names what was allocated");
  return *found;
}

std::vector<const GuardedBuffer*> Layer::inputs(std::size_t layer) const {
  std::vector<const GuardedBuffer*> found;
  for (const BufferPlan& plan : buffers_of(attention_plan(problem_).inputs()))
    found.push_back(&buffer(plan.name, layer));
  return found;
}

std::vector<const GuardedBuffer*> Layer::last_inputs() const { return inputs(weights_.size() - 1); }

std::vector<const GuardedBuffer*> Layer::outputs() const {
  std::vector<const GuardedBuffer*> found;
  for (const BufferPlan& plan : buffers_of(attention_plan(problem_).outputs()))
    found.push_back(&buffer(plan.name));
  return found;
}

const LayerProduct& Layer::product(std::size_t i) const {
  return i < plan_.before.size() ? plan_.before[i] : plan_.after;
}

TensorAddresses Layer::addresses(std::size_t layer) const {
  std::vector<const GuardedBuffer*> buffers = inputs(layer);
  std::ranges::copy(outputs(), std::back_inserter(buffers));
  return addresses_of(attention_plan(problem_), buffers);
}

Status Layer::queue_product(std::size_t i, std::size_t layer) {
  const CUdeviceptr weights = weights_[layer].products[i].address();
  return products_[i]->queue(
      {buffer(product(i).from).address(), weights, buffer(product(i).to).address()},
      workspace_.address(), stream_);
}

/// Makes one or more passes over all layers, so that a replay is long against the jitter of events.
Result<HotLoop> Layer::loop(Sampler& sampler, Executable* program) {
  const auto queue_layers = [&]() -> Status {
    for (std::size_t layer = 0; layer < weights_.size(); ++layer) {
      for (std::size_t i = 0; i < plan_.before.size(); ++i)
        FATUNE_TRY_STATUS(queue_product(i, layer));
      if (program != nullptr) {
        FATUNE_TRY_STATUS(program->bind(addresses(layer)));
        FATUNE_TRY_STATUS(program->queue());
      }
      FATUNE_TRY_STATUS(queue_product(plan_.before.size(), layer));
    }
    return {};
  };
  return sampler.make_loop_of(queue_layers, plan_.layers, passes_);
}

Status Layer::make_loop_without(Sampler& sampler) {
  for (passes_ = 1;;) {
    FATUNE_TRY(without_, loop(sampler, nullptr));
    const HotLoop* const twice[] = {&without_, &without_};  // the first one warms up
    FATUNE_TRY(const auto times, sampler.time_in_turn(twice));
    if (!times) return device_error("the products of a layer do not come to an end");
    without_time_ = times->back();
    const double pass_us = without_time_.value * static_cast<double>(plan_.layers);
    const double wanted = std::ceil(SamplingPlan{}.graph_time.value / pass_us);
    const double passes = std::clamp(wanted, 1.0, double{kMostLayerPasses});
    if (passes <= passes_) return {};
    passes_ = static_cast<int>(passes);
  }
}

Result<HotLoop> Layer::loop_with(Sampler& sampler, Executable& program) {
  return loop(sampler, &program);
}

LayerTimes layer_times(std::span<const double> in_turn_us) {
  FATUNE_CHECK(in_turn_us.size() >= 3 && in_turn_us.size() % 2 == 1, "begins and ends without");
  LayerTimes found;
  std::vector<double> without_us;
  for (std::size_t i = 0; i < in_turn_us.size(); ++i) {
    if (i % 2 == 0) {
      without_us.push_back(in_turn_us[i]);
    } else {
      const double before_us = in_turn_us[i - 1], behind_us = in_turn_us[i + 1];
      const double us = in_turn_us[i] - (before_us + behind_us) / 2;
      found.turns.push_back({us, is_steady(before_us, behind_us, us)});
    }
  }
  found.without_us = median(std::move(without_us));
  return found;
}

Result<std::optional<LayerTimes>> time_layers(Sampler& sampler, const Layer& layer,
                                              std::span<const HotLoop* const> with) {
  std::vector<const HotLoop*> turns{&layer.without(), &layer.without()};
  for (const HotLoop* each : with) turns.insert(turns.end(), {each, &layer.without()});
  FATUNE_TRY(const auto times, sampler.time_in_turn(turns));
  if (!times) return std::optional<LayerTimes>{};
  std::vector<double> in_turn_us;
  for (const Micros time : *times) in_turn_us.push_back(time.value);
  return std::optional(layer_times(std::span(in_turn_us).subspan(1)));
}

Result<std::optional<LayerTurn>> steady_turn(const TakeLayerTurn& take) {
  auto turn = take();
  for (int tries = 1; tries < kTurnTries && turn && *turn && !(*turn)->steady; ++tries)
    turn = take();
  return turn;
}

std::string order_finding(std::span<const double> in_turn_us, std::span<const double> in_a_row_us,
                          std::uint64_t seed) {
  const Interval ratio = bootstrap_ratio_unpaired(in_turn_us, in_a_row_us, kResamples, seed);
  if (compare_interval(ratio, kSteadyLayer) == Verdict::kTie) return {};
  return fmt::format(
      "order: it takes {:.3f} to {:.3f} times as long in turn with others as behind itself",
      ratio.low, ratio.high);
}

}  // namespace fatune
