// references.hpp - runs the reference and the low-precision reference of an operation on the
// device; gives values and limits of each output.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "worker/device/device_session.hpp"
#include "worker/protocol/messages.hpp"
#include "worker/verify/host_reference.hpp"
#include "worker/verify/inputs.hpp"
#include "worker/verify/tolerance.hpp"

namespace fatune {

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

  /// `addresses` of the inputs by name, `inputs` their bytes. A wrong or unfinished reference and a
  /// low-precision reference that breaks its own limits are device errors: nothing may be measured
  /// by them. What they left on the device is overwritten.
  Result<References> make(const InputCase& which,
                          const std::map<std::string, CUdeviceptr>& addresses,
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
  Result<Results> run(const Program& program, std::map<std::string, CUdeviceptr> addresses,
                      bool singles);
};

}  // namespace fatune
