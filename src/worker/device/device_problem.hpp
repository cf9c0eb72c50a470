// device_problem.hpp: Keeps a problem on the device: inputs, outputs, checks and references.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "gpu/objects.hpp"
#include "worker/baselines/executable.hpp"
#include "worker/device/device_session.hpp"
#include "worker/device/references.hpp"
#include "worker/protocol/messages.hpp"
#include "worker/timing/layer.hpp"
#include "worker/verify/guarded_buffer.hpp"

namespace fatune {

class ProblemLayer {
 public:
  /// Must be made before a candidate runs between the products, because it could change what it
  /// reads there. All that it is made of must outlive it.
  static Result<std::unique_ptr<ProblemLayer>> make(DeviceSession& session, const BeginOrder& order,
                                                    const std::vector<TensorPlan>& plans,
                                                    DeviceChecks& checks);
  Layer& layer() { return *layer_; }
  /// Copies of the last attention's inputs in memory of their own; without references at first.
  InputSet& inputs() { return inputs_; }
  /// The same inputs on the host, in the order of the plan.
  std::vector<HostTensor> tensors() const;
  /// Puts back what the products do not write again themselves.
  Status mend();

 private:
  ProblemLayer(CUstream stream, const std::vector<TensorPlan>& plans, DeviceChecks& checks)
      : stream_(stream), plans_(plans), checks_(checks) {}

  CUstream stream_;
  const std::vector<TensorPlan>& plans_;  ///< of the problem's inputs
  DeviceChecks& checks_;
  std::unique_ptr<Layer> layer_;
  InputSet inputs_;
  std::vector<std::vector<std::byte>> memory_;  ///< of inputs_
};

/// Reports the present phase to the parent.
using PhaseNote = std::function<void(std::string_view phase)>;

class DeviceProblem {
 public:
  /// Makes inputs and references of every case; rows of each reference are validated on the host in
  /// fp64.
  static Result<std::unique_ptr<DeviceProblem>> begin(DeviceSession& session,
                                                      const BeginOrder& order);

  const Problem& problem() const { return order_.problem; }
  /// The setting of implementations from elsewhere that compute the problem.
  OutsideSetting outside_setting() const {
    return fatune::outside_setting(*session_, order_.problem, order_.custom);
  }
  std::vector<InputSet>& sets() { return sets_; }
  /// More seeds of the first case's distribution, for results near a limit. Made at the first call,
  /// each with a note. An error is no candidate's fault.
  Result<std::span<InputSet>> extra_sets(const PhaseNote& note);
  const std::vector<TensorPlan>& inputs() const { return input_plans_; }
  /// In the order of the plan. Attention has out, and lse if the problem wants it.
  std::span<const GuardedBuffer> outputs() const { return outputs_; }
  const TensorPlan& output(std::size_t i) const { return output_plans_[i]; }
  /// Copies an output to one of its two places (`which`) in page-locked host memory.
  Status fetch(std::size_t which, std::size_t output);
  /// The copy: the elements in order, and the memory as it lies.
  std::span<const std::byte> host_output(std::size_t which, std::size_t output = 0) const;
  std::span<const std::byte> host_memory(std::size_t which, std::size_t output) const;
  bool has_gaps(std::size_t output) const { return output_buffers_[output].gaps; }
  DeviceChecks& checks() { return checks_; }
  /// Zeros that stand for the data of another kernel: a quarter of the L2 cache.
  const gpu::Buffer& neighbours_memory() const { return neighbours_memory_; }
  TensorAddresses addresses(const InputSet& set) const;
  /// Queues the fills of outputs that are read. Launches change them, so each turn begins with it.
  Status fill_read_outputs(const InputSet& set) const;
  bool fills_outputs() const { return plan_.fills_outputs(); }
  /// Made at the first call. The error says why there is none.
  Result<Layer*> layer();
  /// The inputs of attention in the last layer. Their references are made at the first call that
  /// wants them `judged`.
  Result<InputSet*> layer_set(bool judged);
  Micros reference_time() const { return reference_time_; }
  /// A launch that takes longer counts as hung: the time of 50 references, at least 2 s, at most
  /// the order's deadline.
  std::chrono::microseconds kernel_limit() const;
  /// Puts inputs and guard bands back after a candidate that may have written to them.
  Status mend();
  /// Also gives back the part of the L2 cache that was set aside.
  Status restore();

 private:
  DeviceProblem(DeviceSession& session, const BeginOrder& order);
  Status make_outputs();
  Status make_sets();
  /// v is doubled `doublings` times; see the tolerance rule "vacuity".
  std::vector<HostTensor> finite_inputs(const InputCase& which, int doublings) const;
  /// `inputs` are not doubled yet.
  Result<InputSet> make_set(const InputCase& which, std::vector<HostTensor> inputs);
  /// Puts elements that are not finite into inputs whose reference is made.
  Status spoil(InputSet& set);
  Status write_inputs(const InputSet& set);
  Result<ProblemLayer*> problem_layer();

  DeviceSession* session_;
  BeginOrder order_;
  OperationPlan plan_;
  std::vector<TensorPlan> input_plans_, output_plans_;
  std::vector<BufferPlan> output_buffers_;  ///< of one tensor each
  std::unique_ptr<ReferenceMaker> references_;
  DeviceChecks checks_;
  gpu::Buffer neighbours_memory_;
  std::vector<GuardedBuffer> outputs_;
  std::vector<gpu::HostBuffer> host_[2];             ///< as outputs_
  std::vector<std::vector<std::byte>> in_order_[2];  ///< of outputs that are not contiguous
  std::vector<InputSet> sets_, extra_sets_;
  std::optional<Result<std::unique_ptr<ProblemLayer>>> layer_;
  Micros reference_time_{0};
};

}  // namespace fatune
