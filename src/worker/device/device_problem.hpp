// device_problem.hpp - inputs in guarded device memory, and their reference on the host; orders to
// run candidates on them, to answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "worker/baselines/executable.hpp"
#include "worker/device/device_session.hpp"
#include "worker/device/references.hpp"
#include "worker/protocol/messages.hpp"

namespace fatune {

/// One set of inputs with its reference. The reference exists on the host only while candidates
/// run: it is computed before the first of them, or between two of a candidate's own launches
/// (extra_sets), and what it left on the device, its scratch memory too, is overwritten before it
/// is freed.
struct InputSet {
  InputCase which;
  int v_doublings = 0;
  std::vector<TensorReference> outputs;  ///< attention's lse aside
  LseReference lse;
  std::vector<GuardedBuffer> inputs;     ///< in the order of the plan
  std::vector<std::uint64_t> checksums;  ///< of the inputs
};

class DeviceProblem {
 public:
  /// Makes inputs and references of every case; the first case's reference is validated on the host
  /// in fp64.
  static Result<std::unique_ptr<DeviceProblem>> begin(DeviceSession& session,
                                                      const BeginOrder& order);

  const Problem& problem() const { return order_.problem; }
  std::vector<InputSet>& sets() { return sets_; }
  /// More seeds of the first case's distribution, for results near a limit; made at the first call.
  Result<std::span<InputSet>> extra_sets();
  /// In the order of the plan: of attention out, and lse when the problem wants it.
  std::span<const GuardedBuffer> outputs() const { return outputs_; }
  const TensorPlan& output(std::size_t i) const { return output_plans_[i]; }
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
  DeviceProblem(DeviceSession& session, const BeginOrder& order);
  Status make_outputs();
  Result<InputSet> make_set(const InputCase& which);
  Result<InputSet> upload(const InputCase& which, int v_doublings,
                          const std::vector<HostTensor>& tensors);

  DeviceSession* session_;
  BeginOrder order_;
  OperationPlan plan_;
  std::vector<TensorPlan> output_plans_;
  std::unique_ptr<ReferenceMaker> references_;
  DeviceChecks checks_;
  std::vector<GuardedBuffer> outputs_;
  std::vector<gpu::HostBuffer> host_[2];  ///< as outputs_
  std::vector<InputSet> sets_, extra_sets_;
  Micros reference_time_{0};
};

/// Reports the present phase to the parent.
using PhaseNote = std::function<void(std::string_view phase)>;

/// Never an error: whatever a candidate does is an outcome. Memory that it overwrote is restored.
RunReply run_candidate(DeviceSession& session, DeviceProblem& problem, const RunOrder& order,
                       const PhaseNote& note);

/// Graph replays and cold launches of all contestants, round by round, each round in another order.
/// A template that fails here, after it passed every gate, is an error; an implementation from
/// elsewhere is a failed row.
Result<RoundsReply> run_rounds(DeviceSession& session, DeviceProblem& problem,
                               const RoundsOrder& order, const PhaseNote& note);

}  // namespace fatune
