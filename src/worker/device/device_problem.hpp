// device_problem.hpp - the worker's hold on a GPU: context, stream, sampler; inputs in guarded
// device memory, and their references, run on the device and held on the host; orders to run
// candidates on them, to answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "gpu/objects.hpp"
#include "gpu/telemetry.hpp"
#include "model/results/measurement.hpp"
#include "worker/baselines/batched_gemm.hpp"
#include "worker/baselines/executable.hpp"
#include "worker/baselines/outside.hpp"
#include "worker/protocol/messages.hpp"
#include "worker/timing/layer.hpp"
#include "worker/timing/sampler.hpp"
#include "worker/verify/host_reference.hpp"

namespace fatune {

/// Reports the present phase to the parent.
using PhaseNote = std::function<void(std::string_view phase)>;

/// Made once a process; its address stays, because the sampler points into it. Members are
/// destroyed in reverse order.
struct DeviceSession {
  gpu::DeviceFacts facts;
  gpu::Telemetry telemetry;
  gpu::Context context;
  gpu::Stream stream;
  std::optional<Sampler> sampler;
  OutsideHost outside;
  OpenGemm open_gemm = BatchedGemm::open;  ///< of a layer's products
};
/// On the first device that the process sees.
Result<std::unique_ptr<DeviceSession>> open_device_session();
/// For implementations from elsewhere.
OutsideSetting outside_setting(const DeviceSession& session, const Problem& problem);
/// Loads the library of the products of the problem's layer, which stays loaded; where there is no
/// such layer, or no library, that shows when it is needed.
void load_products(const DeviceSession& session, const Problem& problem);

/// What the device part of an environment says; compiler and host are the parent's to fill in.
Environment environment_of(const gpu::DeviceFacts& facts);
/// Why final phases on it would not be its own: MIG, or processes that compute on it. For a GPU on
/// which fatune has not begun; empty where nothing is known.
std::string unfit_reason(const gpu::DeviceFacts& facts);

/// Of one set of inputs.
struct References {
  std::vector<TensorReference> outputs;  ///< with limits; attention's lse is apart
  LseReference lse;
  Micros time{0};  ///< of the reference
};

/// The reference of a problem, compared with by every candidate. Two implementations: attention's
/// runs head by head and is checked in fp64 on the host; a declared one is the definition.
class ReferenceMaker {
 public:
  /// All three must outlive the maker.
  static std::unique_ptr<ReferenceMaker> of(DeviceSession& session, const BeginOrder& order,
                                            const OperationPlan& plan);
  ReferenceMaker(DeviceSession& session, const BeginOrder& order, const OperationPlan& plan)
      : session_(session), order_(order), plan_(plan) {}
  virtual ~ReferenceMaker() = default;

  /// `addresses` of the inputs by name, `inputs` their elements; those that do not lie contiguous
  /// are copied for as long as it takes. A wrong or unfinished reference and a low-precision
  /// reference that breaks its own limits are device errors: nothing may be measured by them. What
  /// they left on the device is overwritten.
  Result<References> make(const InputCase& which, int v_doublings, TensorAddresses addresses,
                          std::vector<HostTensor> inputs);
  /// How often v may be doubled so that zeros miss the limits.
  virtual int most_doublings() const = 0;
  /// Of limits that an output of zeros comes near to: the check would prove nothing.
  virtual Error vacuous(const TensorReference& output) const = 0;

 protected:
  using Offsets = std::map<std::string, std::int64_t>;  ///< elements, by tensor
  /// What a program wrote of each output of the plan.
  struct Results {
    std::vector<std::vector<std::byte>> outputs;
    Micros time{0};
  };

  /// The problem of one launch, and where in the tensors each launch begins.
  virtual Problem slice() const = 0;
  virtual std::vector<Offsets> slices() const = 0;
  /// The reference's values, checked as far as they can be.
  virtual Result<References> take(Results results, const InputCase& which,
                                  std::vector<HostTensor> inputs) const = 0;
  virtual Limits limits(const TensorReference& output, const Comparison& twin,
                        const InputCase& which) const = 0;

  DeviceSession& session_;
  const BeginOrder& order_;
  const OperationPlan& plan_;

 private:
  /// `plan` and `slice` are the order's, or those of the same problem in another type.
  Result<Results> run(const Program& program, const OperationPlan& plan, const Problem& slice,
                      TensorAddresses addresses, bool singles);
  Result<Results> run_apart(const Program& program, Problem problem, const Problem& slice,
                            HostInputs inputs, bool singles);
  /// What the reference gives for the inputs before they were quantized.
  Result<std::vector<float>> unquantized_values(const InputCase& which, int v_doublings);
  /// TensorReference::rounding of attention's out.
  Result<std::vector<float>> rounding(HostInputs inputs);
  Result<Results> twin_of_quantized(const HostInputs& unquantized);
};

/// One set of inputs with its reference. The reference exists on the host only while candidates
/// run: it is computed before the first of them, or between two of a candidate's own launches
/// (extra_sets), and what it left on the device, its scratch memory too, is overwritten before it
/// is freed.
struct InputSet : References {
  InputCase which;
  int v_doublings = 0;
  std::vector<GuardedBuffer> inputs;     ///< in the order of buffers_of()
  std::vector<std::uint64_t> checksums;  ///< of the inputs
};

class DeviceProblem {
 public:
  /// Makes inputs and references of every case; rows of each reference are validated on the host in
  /// fp64.
  static Result<std::unique_ptr<DeviceProblem>> begin(DeviceSession& session,
                                                      const BeginOrder& order);

  const Problem& problem() const { return order_.problem; }
  std::vector<InputSet>& sets() { return sets_; }
  /// More seeds of the first case's distribution, for results near a limit; made at the first call,
  /// each with a note. That they cannot be made is nobody's fault.
  Result<std::span<InputSet>> extra_sets(const PhaseNote& note);
  const std::vector<TensorPlan>& inputs() const { return input_plans_; }
  /// In the order of the plan: of attention out, and lse when the problem wants it.
  std::span<const GuardedBuffer> outputs() const { return outputs_; }
  const TensorPlan& output(std::size_t i) const { return output_plans_[i]; }
  /// Brings an output to the host, where there is page-locked room for two of each, in the order of
  /// outputs().
  Status fetch(std::size_t which, std::size_t output);
  /// What came: the elements in order, and the memory as it lies.
  std::span<const std::byte> host_output(std::size_t which, std::size_t output = 0) const;
  std::span<const std::byte> host_memory(std::size_t which, std::size_t output) const;
  bool has_gaps(std::size_t output) const { return output_buffers_[output].gaps; }
  DeviceChecks& checks() { return checks_; }
  /// Zeros, a quarter of the L2 cache: what another kernel has there.
  const gpu::Buffer& neighbours_memory() const { return neighbours_memory_; }
  TensorAddresses addresses(const InputSet& set) const;
  /// Made at the first call, and with it what attention reads in its last layer, in memory of its
  /// own; the error says why there is none.
  Result<Layer*> layer();
  /// The latter, with references if `judged`, which are made at the first such call.
  Result<InputSet*> layer_set(bool judged);
  Micros reference_time() const { return reference_time_; }
  /// A launch that takes longer counts as hung: 50 references, at least 2 s, at most the order's
  /// deadline.
  std::chrono::microseconds kernel_limit() const;
  /// Puts inputs and guard bands back after a candidate that may have written to them.
  Status mend();
  /// The same, and no lines of the L2 cache stay set aside.
  Status restore();

 private:
  DeviceProblem(DeviceSession& session, const BeginOrder& order);
  Status make_outputs();
  Status make_sets();
  /// `doublings` of v, see the tolerance rule "vacuity".
  std::vector<HostTensor> finite_inputs(const InputCase& which, int doublings) const;
  /// `inputs`: those without doublings.
  Result<InputSet> make_set(const InputCase& which, std::vector<HostTensor> inputs);
  /// References are of numbers alone; then come the elements that are none.
  Status spoil(InputSet& set);
  Status write_inputs(const InputSet& set);
  Result<std::unique_ptr<Layer>> make_layer();
  std::vector<HostTensor> layer_tensors() const;
  Status mend_layer();

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
  std::vector<std::vector<std::byte>> in_order_[2];  ///< of those that are not contiguous
  std::vector<InputSet> sets_, extra_sets_;
  std::optional<Result<std::unique_ptr<Layer>>> layer_;
  InputSet layer_set_;                                ///< where there is a layer
  std::vector<std::vector<std::byte>> layer_memory_;  ///< what its inputs hold
  Micros reference_time_{0};
};

/// Never an error: whatever a candidate does is an outcome. Memory that it overwrote is restored.
RunReply run_candidate(DeviceSession& session, DeviceProblem& problem, const RunOrder& order,
                       const PhaseNote& note);

/// Graph replays and cold launches of all contestants, round by round, each round in another order.
/// A template that fails here, after it passed every gate, is an error; an implementation from
/// elsewhere is a failed row.
Result<RoundsReply> run_rounds(DeviceSession& session, DeviceProblem& problem,
                               const RoundsOrder& order, const PhaseNote& note);

}  // namespace fatune
