// device_problem.hpp - inputs in guarded device memory, and their reference on the host.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "worker/device/device_session.hpp"
#include "worker/device/loaded_program.hpp"
#include "worker/protocol/messages.hpp"
#include "worker/verify/compare.hpp"
#include "worker/verify/device_checks.hpp"
#include "worker/verify/inputs.hpp"
#include "worker/verify/lse.hpp"
#include "worker/verify/tensor_check.hpp"
#include "worker/verify/tensor_inputs.hpp"
#include "worker/verify/tolerance.hpp"

namespace fatune {

/// One set of inputs with its reference. The reference exists on the host only while candidates
/// run: it is computed before the first of them, or between two of a candidate's own launches
/// (extra_sets), and what it left on the device, its scratch memory too, is overwritten before it
/// is freed.
struct InputSet {
  InputCase which;
  int v_doublings = 0;
  ReferenceOutput reference;
  Limits limits;
  LseReference lse;
  std::vector<TensorReference> own;      ///< of a custom operation, instead of these three
  std::vector<GuardedBuffer> inputs;     ///< q, k, v, or those that the operation declares
  std::vector<std::uint64_t> checksums;  ///< of the inputs
};

class DeviceProblem {
 public:
  /// Makes inputs and references of every case; the first case's reference is validated on the host
  /// in fp64.
  static Result<std::unique_ptr<DeviceProblem>> begin(DeviceSession& session,
                                                      const BeginOrder& order);

  const Problem& problem() const { return order_.problem; }
  /// Tensors and tolerance of a custom operation.
  const std::optional<OwnPlan>& own() const { return order_.own; }
  std::vector<InputSet>& sets() { return sets_; }
  /// More seeds of the first case's distribution, for results near a limit; made at the first call.
  Result<std::span<InputSet>> extra_sets();
  /// out, and lse when the problem wants it; or those that the operation declares.
  std::span<const GuardedBuffer> outputs() const { return outputs_; }
  /// Page-locked room for two of each output, in the order of outputs().
  std::span<std::byte> host_output(std::size_t which, std::size_t output = 0) const;
  DeviceChecks& checks() { return checks_; }
  TensorAddresses addresses(const InputSet& set) const;
  Micros reference_time() const { return reference_time_; }
  /// A launch that takes longer counts as hung: 50 references, at least 2 s, at most the order's
  /// deadline.
  std::chrono::microseconds kernel_limit() const;
  /// Puts inputs and guard bands back after a candidate that may have written to them.
  Status restore();

 private:
  /// Of all heads, on the host.
  struct HeadResults {
    std::vector<std::byte> out;
    std::vector<float> lse;  ///< empty unless the problem wants it
  };
  explicit DeviceProblem(DeviceSession& session, const BeginOrder& order)
      : session_(&session), order_(order) {}
  Status make_output(std::string name, Bytes bytes);
  Result<InputSet> make_set(const InputCase& which);
  Status make_outputs();
  Result<InputSet> upload(const InputCase& which, int v_doublings,
                          const std::vector<HostTensor>& tensors);
  Result<InputSet> make_own_set(const InputCase& which);
  Status refer(InputSet& set, const HostInputs& inputs);
  std::vector<HostTensor> host_tensors(const InputSet& set) const;
  Result<HeadResults> run_by_head(const Program& program, const InputSet& set,
                                  std::size_t element_bytes);

  DeviceSession* session_;
  BeginOrder order_;
  DeviceChecks checks_;
  std::vector<GuardedBuffer> outputs_;
  std::vector<gpu::HostBuffer> host_[2];  ///< as outputs_
  std::vector<InputSet> sets_, extra_sets_;
  Micros reference_time_{0};
};

}  // namespace fatune
