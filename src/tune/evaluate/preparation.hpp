// preparation.hpp: Prepares the inputs of a problem and the order that makes a worker ready.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/candidate.hpp"
#include "model/kernel/operation.hpp"
#include "model/problem/problem.hpp"
#include "tune/compile/service.hpp"
#include "worker/protocol/messages.hpp"

namespace fatune {

/// Settings that all preparations share.
struct PreparationSetting {
  /// Kernel of the role "reference". Compiled with OUT_F32=1, and with ROUND_INTERMEDIATES=1 as the
  /// low-precision reference.
  KernelRef reference;
  DeviceLimits limits;
  double kernel_deadline_s = 10;
};

/// A problem's order, whose programs are being compiled.
struct PendingProblem {
  BeginOrder order;  ///< without machine code
  Ticket reference = 0, checks = 0;
  std::optional<Ticket> low_precision = {};  ///< none if the operation declares a tolerance
  std::optional<Ticket> unquantized = {};    ///< for fp8
};

/// Requests the compilations. A problem that the reference does not support is a usage error.
Result<PendingProblem> request_problem(CompileService& service, const PreparationSetting& setting,
                                       const Problem& problem, std::vector<InputCase> cases);
/// Waits for the compilations. A reference that does not compile is an environment error with the
/// first line of the compile log.
Result<BeginOrder> finish_problem(CompileService& service, PendingProblem pending);

/// Cancels a problem that will not be finished.
void cancel_problem(CompileService& service, const PendingProblem& pending);

/// Returns an error if the tensors of `cases` input sets and the reference with its scratch memory
/// exceed device memory. Allocates nothing.
Status check_memory(const Operation& operation, const Problem& problem, const LaunchPlan& reference,
                    const DeviceLimits& limits, std::size_t cases);

/// Returns the cases of the search and then the hard cases, without repetition.
std::vector<InputCase> final_cases(const Operation& operation, const Problem& problem,
                                   std::uint64_t seed);

}  // namespace fatune
