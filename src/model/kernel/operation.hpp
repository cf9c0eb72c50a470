// operation.hpp - what kernels compute, attention or what a manifest declares: sizes to a problem,
// its tensors and its work.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "model/problem/input_case.hpp"
#include "model/problem/problem.hpp"
#include "model/problem/tensor.hpp"

namespace fatune {

/// A size as declared; `--size` gives it a value.
struct SizeSpec {
  std::string name;  ///< of the macro
  std::string meaning;
};

struct TensorSpec {
  std::string name;
  std::string type;                ///< "io" (the problem's), "f32", or an element type
  std::vector<std::string> shape;  ///< expressions, the fastest dimension last
  bool output = false;
  Fill fill;
};

/// An awkward problem, small as a rule, that finalists must solve.
struct EdgeProblem {
  Problem problem;
  std::vector<InputCase> cases;
  bool last_resort = false;  ///< for configs that can do none of the others
};

struct DeclaredOperation;

/// What kernels compute: attention, which fatune defines, or what a manifest declares. Kernels of
/// one operation compete at its problems.
struct Operation {
  std::string name;
  std::string text;  ///< the declaration, for identities; empty for attention

  virtual ~Operation() = default;
  /// Tensors and tolerance of one of its problems.
  virtual Result<OperationPlan> plan(const Problem& problem) const = 0;
  /// What a stage can be passed besides scratch memory and tensor maps.
  virtual std::vector<std::string> tensor_names() const = 0;
  /// All sizes 1: for names, not for values.
  virtual Problem smallest_problem() const = 0;
  /// The part of a problem that a launch of the reference computes: one head, contiguous, so that
  /// no stride that kernels compile in is the reference's too; or all of it.
  virtual Problem reference_problem(const Problem& problem) const = 0;
  /// What finalists meet besides search_cases().
  virtual std::vector<InputCase> hard_cases(const Problem& problem, std::uint64_t seed) const = 0;
  /// Of the element type of `like`, and what else a kernel is compiled for.
  virtual Result<std::vector<EdgeProblem>> edge_problems(const Problem& like,
                                                         std::uint64_t seed) const = 0;
  /// The option that says a problem's sizes.
  virtual std::string_view size_option() const = 0;
  /// For the few places that only a declaration concerns; null for attention.
  virtual const DeclaredOperation* declared() const { return nullptr; }
};
using OperationRef = std::shared_ptr<const Operation>;

/// Its hard inputs are every distribution, unless the problem is so large that its reference is
/// slow; then one group of its heads is an edge problem that has them. Its other edge problems have
/// sequences of 1, 17 and one beside a tile's edge, odd heads, batches of 1, 2, 4 and 8, grouped
/// heads and unequal lengths (rows that see nothing, when causal). The last resort has more rows
/// than a wave of CTAs, for kernels that fill whole waves.
const OperationRef& attention();

/// Two seeds of N(0,1), or of the declared fills. Of fp8 values of 1, too, and of a fused problem
/// what quantizing can go wrong with: heads of zeros, and heads that are not finite.
std::vector<InputCase> search_cases(const Problem& problem, std::uint64_t seed);

/// The reference's manifest defines it. See kernels/README.md for the fields.
struct DeclaredOperation final : Operation {
  std::string summary;
  std::vector<SizeSpec> sizes;
  std::vector<TensorSpec> tensors;
  std::vector<std::vector<NamedSize>> typical;  ///< where lint looks; the first is the example
  std::vector<std::vector<NamedSize>> edges;    ///< small awkward ones that finalists must solve
  std::vector<std::string> hard_inputs;         ///< names of distributions that finalists meet
  std::optional<DeclaredTolerance> tolerance;
  std::string flops, bytes_read, bytes_written;  ///< expressions; empty: not told, all tensors
  std::string where;                             ///< "x.json: field 'operation'", for messages

  Result<OperationPlan> plan(const Problem& problem) const override;
  std::vector<std::string> tensor_names() const override;
  Problem smallest_problem() const override;
  Problem reference_problem(const Problem& problem) const override { return problem; }
  std::vector<InputCase> hard_cases(const Problem& problem, std::uint64_t seed) const override;
  /// As declared; the last of them has the hard inputs, too.
  Result<std::vector<EdgeProblem>> edge_problems(const Problem& like,
                                                 std::uint64_t seed) const override;
  std::string_view size_option() const override { return "--size"; }
  const DeclaredOperation* declared() const override { return this; }

  /// The problem of these sizes, in any order. A size that is missing, unknown, or makes a tensor
  /// too large is a usage error with an example that works.
  Result<Problem> problem(const std::vector<NamedSize>& sizes, Dtype dtype) const;
  std::vector<Problem> typical_problems(Dtype dtype) const;
  /// "--size ROWS=4096,COLUMNS=1024": an example for messages.
  std::string example() const;
};

/// Most inputs of an operation with dependent launches: the gate early_start exchanges as many.
inline constexpr std::size_t kMostEarlyInputs = 6;

/// Reads and checks the object under 'operation': names, expressions, and that the typical and the
/// edge sizes make problems. Errors name file and field.
Result<DeclaredOperation> parse_operation(const Fields& fields);

}  // namespace fatune
