// problem_layer.hpp: Keeps the layer of a problem, and copies of what its last attention reads.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "core/result.hpp"
#include "worker/device/device_session.hpp"
#include "worker/device/references.hpp"
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

}  // namespace fatune
