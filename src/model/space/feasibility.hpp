// feasibility.hpp - whether a config can run on a problem and a device, and if not, why.
#pragma once

#include <memory>
#include <string>

#include "core/result.hpp"
#include "model/kernel/candidate.hpp"
#include "model/kernel/limits.hpp"

namespace fatune {

/// `kNecessary` leaves out the constraints that only prune: a finalist is right on problems for
/// which it would be a poor choice.
enum class Strictness { kAll, kNecessary };

/// The rules of a kernel on a problem and a device, compiled once for many configs.
class Feasibility {
 public:
  static Result<Feasibility> make(KernelRef kernel, const Problem& problem,
                                  const DeviceLimits& limits);
  Feasibility(Feasibility&&) noexcept;
  Feasibility& operator=(Feasibility&&) noexcept;
  ~Feasibility();

  /// Why a config of the kernel cannot run: first broken constraint with its reason, or the device
  /// limit exceeded; empty when it can.
  Result<std::string> broken(const Config& config, Strictness strictness = Strictness::kAll);

 private:
  struct Rules;
  explicit Feasibility(std::unique_ptr<Rules> rules);
  std::unique_ptr<Rules> rules_;
};

/// The same for one candidate.
Result<std::string> infeasible_reason(const Candidate& candidate, const DeviceLimits& limits,
                                      Strictness strictness = Strictness::kAll);

/// Why the kernel cannot do the problem at all, or the config not on this device, by the necessary
/// constraints; empty when it can.
Result<std::string> impossible_reason(const Candidate& candidate, const DeviceLimits& limits);

}  // namespace fatune
