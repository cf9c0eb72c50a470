// edge_problems.hpp - a problem to the small awkward ones its finalists must solve, too.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.hpp"
#include "model/kernel/operation.hpp"
#include "model/problem/problem.hpp"
#include "worker/protocol/input_case.hpp"

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
/// The inputs that finalists of an operation meet besides those of the search, as it declares.
std::vector<InputCase> hard_cases(const DeclaredOperation& operation, std::uint64_t seed);

}  // namespace fatune
