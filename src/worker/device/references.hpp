// references.hpp: Declares the makers of references, by which the outputs of candidates are judged.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "worker/baselines/executable.hpp"
#include "worker/device/device_session.hpp"
#include "worker/protocol/messages.hpp"
#include "worker/verify/guarded_buffer.hpp"
#include "worker/verify/host_reference.hpp"
#include "worker/verify/inputs.hpp"

namespace fatune {

/// The references of one set of inputs.
struct References {
  std::vector<TensorReference> outputs;  ///< with limits; attention's lse is apart
  LseReference lse;
  Micros time{0};  ///< of the reference
};

/// Checksums of tensors, in their order.
using Checksums = std::vector<std::uint64_t>;

/// One set of inputs with its reference. The reference exists on the host only while candidates
/// run. It is computed before the first of them, or between two of a candidate's own launches
/// (extra_sets). What it leaves on the device is overwritten before it is freed.
struct InputSet : References {
  InputCase which;
  int v_doublings = 0;
  std::vector<GuardedBuffer> inputs;  ///< in the order of buffers_of()
  Checksums checksums;                ///< of the inputs
  /// Right outputs of candidates, by their checksums. The same bits need no second comparison.
  std::map<Checksums, Judged> right;
};

using Offsets = std::map<std::string, std::int64_t>;  ///< elements, by tensor

/// Returns where in contiguous tensors each launch of the reference begins: head by head, `rows`
/// rows of a head at a time. The last slice of a head may repeat rows of the one before.
std::vector<Offsets> attention_slices(const Attention& problem, std::int64_t rows);

/// Makes the references of a problem. Attention's runs head by head, and is checked in fp64 on the
/// host. The reference of a custom operation is its definition.
class ReferenceMaker {
 public:
  /// All three must outlive the maker.
  static std::unique_ptr<ReferenceMaker> of(DeviceSession& session, const BeginOrder& order,
                                            const OperationPlan& plan);
  ReferenceMaker(DeviceSession& session, const BeginOrder& order, const OperationPlan& plan)
      : session_(session), order_(order), plan_(plan) {}
  virtual ~ReferenceMaker() = default;

  /// `addresses` are of the inputs by name, and `inputs` has their elements. Inputs that are not
  /// contiguous are copied meanwhile. A wrong or unfinished reference, and a low-precision
  /// reference that breaks its own limits, are device errors. What they leave on the device is
  /// overwritten.
  Result<References> make(const InputCase& which, int v_doublings, TensorAddresses addresses,
                          std::vector<HostTensor> inputs);
  /// How often v may be doubled so that zeros miss the limits.
  virtual int most_doublings() const = 0;
  /// The error for limits that an output of zeros nearly meets: the check would prove nothing.
  virtual Error vacuous(const TensorReference& output) const = 0;

 protected:
  /// The bytes that a program wrote of each output of the plan.
  struct Results {
    std::vector<std::vector<std::byte>> outputs;
    Micros time{0};
  };

  /// The problem of one launch, and where in the tensors each launch begins.
  virtual Problem slice() const = 0;
  virtual std::vector<Offsets> slices() const = 0;
  /// Takes the reference's values, checked as far as possible.
  virtual Result<References> take(Results results, const InputCase& which,
                                  std::vector<HostTensor> inputs) const = 0;
  virtual Limits limits(const TensorReference& output, const Comparison& low_precision,
                        const InputCase& which) const = 0;

  const Attention& whole() const { return order_.problem.as_attention(); }
  DeviceSession& session_;
  const BeginOrder& order_;
  const OperationPlan& plan_;

 private:
  /// `plan` and `slice` are the order's, or those of the same problem in another type.
  Result<Results> run(const Program& program, const OperationPlan& plan, const Problem& slice,
                      TensorAddresses addresses, bool singles, std::uint8_t before = kNanByte);
  /// Runs the reference on outputs of another fill. Integers that differ are an error: unwritten.
  Status check_whole(const Results& first, const TensorAddresses& addresses);
  Result<Results> run_apart(const Program& program, Attention problem, const Problem& slice,
                            HostInputs inputs, bool singles);
  /// The reference's values for the inputs before they were quantized.
  Result<std::vector<float>> unquantized_values(const InputCase& which, int v_doublings);
  Result<Results> low_precision_of_quantized(const HostInputs& unquantized);
};

}  // namespace fatune
