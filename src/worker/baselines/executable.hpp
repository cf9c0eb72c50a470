// executable.hpp: Defines the interface of everything that computes a problem on a stream.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "core/result.hpp"
#include "gpu/driver.hpp"
#include "gpu/objects.hpp"
#include "model/problem/tensor.hpp"
#include "model/results/measurement.hpp"
#include "worker/verify/guarded_buffer.hpp"

namespace fatune {

/// Device addresses of a problem's tensors by name. Attention has q and out (batch, heads, seq_q,
/// head_dim) and k and v (batch, kv_heads, seq_kv, head_dim), in the problem's layout and element
/// type. A problem with lse adds lse (batch, heads, seq_q), fp32.
using TensorAddresses = std::map<std::string, CUdeviceptr>;
/// Returns the name by which addresses_of() finds what a filled output holds before a launch.
inline std::string before(const TensorPlan& output) { return output.name + " before"; }

/// `buffers`: the plan's inputs, then its outputs.
inline TensorAddresses addresses_of(const OperationPlan& plan,
                                    std::span<const GuardedBuffer* const> buffers) {
  TensorAddresses addresses;
  std::size_t next = 0;
  for (const auto& tensors : {plan.inputs(), plan.outputs()}) {
    for (const BufferPlan& buffer : buffers_of(tensors)) {
      const CUdeviceptr begin = buffers[next++]->address();
      for (const std::size_t i : buffer.tensors) {
        const TensorPlan& tensor = tensors[i];
        const CUdeviceptr at = begin + static_cast<std::size_t>(tensor.first) * tensor.width();
        if (tensor.filled) addresses.try_emplace(before(tensor), at);
        addresses[tensor.name] = at;
      }
    }
  }
  return addresses;
}

/// Queues the fills of outputs that are read.
inline Status fill_read_outputs(const OperationPlan& plan, const TensorAddresses& at,
                                CUstream stream) {
  for (const TensorPlan& each : plan.outputs()) {
    if (!each.filled) continue;
    FATUNE_TRY_STATUS(
        gpu::copy_on_device(at.at(each.name), at.at(before(each)), each.bytes(), stream));
  }
  return {};
}

/// Times of one turn in a round, microseconds a launch.
struct TurnTimes {
  double hot_us = 0;
  std::optional<double> cold_us{};   ///< empty: cold times are not measured
  std::optional<double> plain_us{};  ///< empty: hot_us is of plain launches
};
/// Time of one turn between the products of a layer.
struct LayerTurn {
  double us = 0;        ///< a layer with attention less a layer without
  bool steady = false;  ///< the layer without attention took equally long before and after
};

/// An implementation in another process, which times itself as the sampler does: a graph replay for
/// hot, single launches after a flush of the cache for cold.
class SelfTimed {
 public:
  virtual ~SelfTimed() = default;
  virtual Result<TurnTimes> take_turn(int cold_launches) = 0;
  /// Empty if it is not timed in a layer.
  virtual Result<std::optional<LayerTurn>> take_layer_turn() { return std::optional<LayerTurn>{}; }
  virtual std::int64_t hot_launches() const = 0;  ///< launches that a hot value is the mean of
};

/// An fp8 output for a problem whose out has 16 bits. Its times count; its accuracy is judged
/// apart.
struct OwnOutput {
  const GuardedBuffer* memory = nullptr;  ///< part of scratch(); contiguous, shaped as out
  Dtype type = Dtype::kE4m3;
  std::int64_t heads = 0;  ///< leading heads, which have the problem's factors
};

/// Times queued work on the device: the median of a few graph replays, in microseconds.
using TimeWork = std::function<Result<double>(const std::function<Status()>& work)>;

class Executable {
 public:
  virtual ~Executable() = default;
  /// Where the next queue() reads and writes.
  virtual Status bind(const TensorAddresses& tensors) = 0;
  /// Queues copies of inputs to the program's constants, as bind() does. Call it before a replay of
  /// a captured graph whose inputs have changed.
  virtual Status fill_constants(const TensorAddresses&) { return {}; }
  /// One pass over the problem. Only queues, on the stream it was made for, fit for graph capture.
  /// A self-timed one waits until its output is in place.
  virtual Status queue() = 0;
  /// queue() with plain launches: none begins before the work in front of it has ended.
  virtual Status queue_plainly() { return queue(); }
  /// Called once, bound, before anything is verified. An implementation with several plans times
  /// them here and keeps the fastest.
  virtual Status settle(const TimeWork&) { return {}; }
  /// Null for an implementation that can be queued into a graph.
  virtual SelfTimed* self_timed() { return nullptr; }
  virtual std::span<const GuardedBuffer> scratch() const { return {}; }
  /// Whether it writes the log-sum-exp that a problem wants.
  virtual bool writes_lse() const { return false; }
  /// Whether its first launch is dependent (programmatic dependent launch).
  virtual bool begins_early() const { return false; }
  /// Whether it is a template of a kernel tree, which could keep state between launches.
  virtual bool is_template() const { return false; }
  /// Whether two runs over the same inputs may differ, as a library may add up in the order in
  /// which its CTAs end. Each run is then judged by itself (class Variation).
  virtual bool may_vary() const { return false; }
  /// Set for a library that writes this in place of the problem's output.
  virtual std::optional<OwnOutput> own_output() const { return std::nullopt; }
  virtual Result<Resources> resources() const { return Resources{}; }
  /// Version and plan in use, say "cuDNN 9.19.0, engine 6"; empty if the config says all.
  virtual std::string detail() const { return {}; }
};

}  // namespace fatune
