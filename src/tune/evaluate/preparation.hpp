// preparation.hpp - a problem to the order that makes a worker ready for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/candidate.hpp"
#include "tune/evaluate/compile_service.hpp"
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
  std::optional<Ticket> twin = {};  ///< none where a tolerance is declared
};

/// A problem that the reference cannot do is a usage error with the reason.
Result<PendingProblem> request_problem(CompileService& service, const PreparationSetting& setting,
                                       const Problem& problem, std::vector<InputCase> cases);
/// Waits for the compilations; a reference that does not compile is an environment error with its
/// first line.
Result<BeginOrder> finish_problem(CompileService& service, const PreparationSetting& setting,
                                  const PendingProblem& pending);

/// An error when the tensors of `cases` sets of inputs and the reference do not fit the memory;
/// checked before anything is allocated.
Status check_memory(const Problem& problem, const DeviceLimits& limits, std::size_t cases);
/// The same for a custom operation: its tensors count, whatever least work it declares.
Status check_memory(const Problem& problem, const OperationPlan& plan, const DeviceLimits& limits,
                    std::size_t cases);

/// Two seeds of N(0,1) in the search; every distribution for finalists, unless the problem is large
/// (is_large), when one group of its heads is an edge problem for them. For a custom operation: two
/// seeds of its declared fills, and its hard inputs.
std::vector<InputCase> search_cases(std::uint64_t seed);
std::vector<InputCase> final_cases(const Problem& problem, std::uint64_t seed,
                                   const OperationRef& operation = attention());

}  // namespace fatune
