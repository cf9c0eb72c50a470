// preparation.hpp - a problem to its inputs and the order that readies a worker.
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

/// What all preparations have in common.
struct PreparationSetting {
  /// Role "reference"; compiled with OUT_F32=1, and with ROUND_INTERMEDIATES=1 as the low-precision
  /// reference.
  KernelRef reference;
  DeviceLimits limits;
  double kernel_deadline_s = 10;
};

/// Compilations under way for a problem.
struct PendingProblem {
  Problem problem;
  std::vector<InputCase> cases;
  LaunchPlan plan;
  std::optional<OperationPlan> custom = {};  ///< of a custom operation
  Ticket reference = 0, checks = 0;
  std::optional<Ticket> low_precision = {};  ///< none where a tolerance is declared
  LaunchPlan low_precision_plan = {};
  std::optional<Ticket> unquantized = {};  ///< of fp8, with its plan
  LaunchPlan unquantized_plan = {};
};

/// A problem that the reference cannot do is a usage error with the reason.
Result<PendingProblem> request_problem(CompileService& service, const PreparationSetting& setting,
                                       const Problem& problem, std::vector<InputCase> cases);
/// Waits for the compilations; a reference that does not compile is an environment error with its
/// first line.
Result<BeginOrder> finish_problem(CompileService& service, const PreparationSetting& setting,
                                  const PendingProblem& pending);

/// For what will not be finished.
void cancel_problem(CompileService& service, const PendingProblem& pending);

/// An error when the tensors of `cases` sets of inputs, and the reference with its scratch memory,
/// do not fit the memory; checked before anything is allocated.
Status check_memory(const Operation& operation, const Problem& problem, const LaunchPlan& reference,
                    const DeviceLimits& limits, std::size_t cases);

/// Those of the search, then the hard ones, each once.
std::vector<InputCase> final_cases(const Operation& operation, const Problem& problem,
                                   std::uint64_t seed);

}  // namespace fatune
