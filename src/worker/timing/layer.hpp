// layer.hpp: Captures layers with and without attention between two matrix products.
//
// The difference of their times is the cost of attention in a program (docs/measuring.md, "In a
// layer"). Each layer has weights of its own. The products are cuBLASLt's and are launched plainly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/problem/problem.hpp"
#include "worker/baselines/batched_gemm.hpp"
#include "worker/baselines/executable.hpp"
#include "worker/timing/sampler.hpp"
#include "worker/verify/guarded_buffer.hpp"

namespace fatune {

/// Chosen: most passes over all layers in a replay.
inline constexpr int kMostLayerPasses = 8;

/// A product of the layer: rows of tokens times weights. Attention or the next layer reads the
/// result.
struct LayerProduct {
  GemmPlan plan;         ///< a: tokens; b: weights, transposed; c: the result
  std::string from, to;  ///< "hidden", "result", or a buffer of the problem
  double factor = 1;     ///< of the weights: scores keep their size whatever the problem's scale
};

/// The products around attention. The hidden size is heads * head_dim. One product gives q, k and v
/// packed, or each has a product of its own. If k and v have another length than q, they come from
/// memory, like a KV cache.
struct LayerPlan {
  std::vector<LayerProduct> before;
  LayerProduct after;
  std::int64_t layers = 1;
  bool cached_keys = false;
  std::int64_t tokens = 1, hidden = 1;
};
/// A usage error for 8-bit floats, which have no layer.
Result<LayerPlan> layer_plan(const Attention& problem, std::int64_t l2_bytes);

/// The memory and the products of a plan.
class Layer {
 public:
  /// `context` must outlive it. A missing cuBLASLt is an environment error.
  static Result<std::unique_ptr<Layer>> make(const gpu::Context& context, CUstream stream,
                                             const Attention& problem, std::int64_t l2_bytes,
                                             Sampler& sampler, const OpenGemm& open_gemm);
  /// Captures all layers with the program's attention in each. The program stays bound to the
  /// layer's memory until it is bound elsewhere.
  Result<HotLoop> loop_with(Sampler& sampler, Executable& program);
  /// The graph of all layers without attention.
  const HotLoop& without() const { return without_; }
  Micros without_time() const { return without_time_; }  ///< time of one layer
  const LayerPlan& plan() const { return plan_; }
  /// The buffers that attention reads in the last layer, in the order of buffers_of(), and those
  /// that it writes.
  std::vector<const GuardedBuffer*> last_inputs() const;
  std::vector<const GuardedBuffer*> outputs() const;

 private:
  struct Weights {
    std::vector<gpu::Buffer> products;  ///< products before attention, then the one after
    std::vector<GuardedBuffer> cached;  ///< keys and values
  };
  Layer(CUstream stream, const Attention& problem, LayerPlan plan)
      : stream_(stream), problem_(problem), plan_(std::move(plan)) {}
  Status allocate(const gpu::Context& context);
  Status allocate_layers(const gpu::Context& context);
  Status fill(CUdeviceptr to, std::size_t bytes, double scale);
  Result<GuardedBuffer> filled(const gpu::Context& context, const std::string& name,
                               std::size_t bytes, std::uint8_t guard);
  bool is_cached(const std::string& name) const;
  const GuardedBuffer& buffer(const std::string& name, std::size_t layer = 0) const;
  std::vector<const GuardedBuffer*> inputs(std::size_t layer) const;
  /// `i` counts the products before attention, then the one after.
  const LayerProduct& product(std::size_t i) const;
  TensorAddresses addresses(std::size_t layer) const;
  Status queue_product(std::size_t i, std::size_t layer);
  Result<HotLoop> loop(Sampler& sampler, Executable* program);
  Status make_loop_without(Sampler& sampler);

  CUstream stream_;
  Attention problem_;
  LayerPlan plan_;
  // Guarded like the gates' buffers, so that no address tells a layer from a gate.
  std::vector<GuardedBuffer> memory_;
  std::vector<Weights> weights_;  ///< by layer
  std::vector<std::unique_ptr<BatchedGemm>> products_;
  gpu::Buffer workspace_;
  HotLoop without_;
  Micros without_time_{0};
  int passes_ = 1;                    ///< over all layers in a replay
  std::vector<std::uint16_t> block_;  ///< N(0, scale), to fill memory with
  double block_scale_ = 0;
  std::size_t block_start_ = 0;  ///< of the last piece, bytes
};

/// Chosen: if two neighbouring replays without attention differ by more than this share of the
/// layer's time (or of attention's, if that is longer), the difference is noise.
inline constexpr double kSteadyLayer = 0.005;

struct LayerTimes {
  std::vector<LayerTurn> turns;
  double without_us = 0;  ///< time of a layer without attention
};

/// Subtracts. The times are of a layer without attention, with it, without, with, ..., without; at
/// least 3.
LayerTimes layer_times(std::span<const double> in_turn_us);
/// Queues replays: each of `with` between two without attention. The first replay does not count,
/// because the host may be late with it. Empty if the device hangs.
Result<std::optional<LayerTimes>> time_layers(Sampler& sampler, const Layer& layer,
                                              std::span<const HotLoop* const> with);

/// Repeats a turn in a layer until it is steady, a few times at most, and returns the last one.
/// Empty if the contestant is not timed in a layer.
using TakeLayerTurn = std::function<Result<std::optional<LayerTurn>>()>;
Result<std::optional<LayerTurn>> steady_turn(const TakeLayerTurn& take);

/// Compares a contestant's times in turn with others with its times in a row; at least 10 of each.
/// "order: ..." if they differ; empty if they agree within the noise.
std::string order_finding(std::span<const double> in_turn_us, std::span<const double> in_a_row_us,
                          std::uint64_t seed);

}  // namespace fatune
