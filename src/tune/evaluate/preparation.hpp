// preparation.hpp - a problem to its inputs, its edge problems and the order that readies a worker.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/candidate.hpp"
#include "model/kernel/operation.hpp"
#include "model/problem/problem.hpp"
#include "tune/compile/service.hpp"
#include "worker/protocol/input_case.hpp"
#include "worker/protocol/messages.hpp"

namespace fatune {

struct EdgeProblem {
  Problem problem;
  std::vector<InputCase> cases;
};

/// Whether the reference is so slow on a problem that it is made for as few inputs as can be:
/// beyond 200 GFLOP, chosen (a tenth of a second on an H200). A problem of one head group is never
/// large: there is nothing smaller that has its lengths.
bool is_large(const Problem& problem);

/// Head dim, element type and mask of `like`; sequences of 1, 17 and one beside a tile's edge, odd
/// heads, batches of 1, 2, 4 and 8, grouped heads, unequal lengths (rows that see nothing, when
/// causal), and every hard distribution. Of a large problem also one group of its heads, at its own
/// lengths, with every hard distribution.
std::vector<EdgeProblem> edge_problems(const Problem& like, std::uint64_t seed);

/// By the operation that `like` is a problem of: the above for attention, else the edges
/// that it declares, the last of them with its hard inputs, too.
Result<std::vector<EdgeProblem>> edge_problems(const Problem& like, std::uint64_t seed,
                                               const OperationRef& operation);

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
Status check_memory(const Problem& problem, const OperationPlan& plan, const DeviceLimits& limits,
                    std::size_t cases);

/// Two seeds of N(0,1) in the search; every distribution for finalists, unless the problem is large
/// (is_large), when one group of its heads is an edge problem for them. For a custom operation: two
/// seeds of its declared fills, and its hard inputs.
std::vector<InputCase> search_cases(std::uint64_t seed);
std::vector<InputCase> final_cases(const Problem& problem, std::uint64_t seed,
                                   const OperationRef& operation = attention());

}  // namespace fatune
