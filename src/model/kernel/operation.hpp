// operation.hpp - what kernels compute, attention or what a manifest declares: sizes to a problem,
// its tensors and its work.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
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
  /// The part of a problem that a launch of the reference computes: one head, or all of it.
  virtual Problem reference_problem(const Problem& problem) const = 0;
  /// For the few places that only a declaration concerns; null for attention.
  virtual const DeclaredOperation* declared() const { return nullptr; }
};
using OperationRef = std::shared_ptr<const Operation>;

const OperationRef& attention();

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
  const DeclaredOperation* declared() const override { return this; }

  /// The problem of these sizes, in any order. A size that is missing, unknown, or makes a tensor
  /// too large is a usage error with an example that works.
  Result<Problem> problem(const std::vector<NamedSize>& sizes, Dtype dtype) const;
  std::vector<Problem> typical_problems(Dtype dtype) const;
  /// "--size ROWS=4096,COLUMNS=1024": an example for messages.
  std::string example() const;
};

/// Most inputs of an operation with dependent launches: the gate early_start exchanges as many.
inline constexpr std::size_t kMostEarlyInputs = 3;

/// Reads and checks the object under 'operation': names, expressions, and that the typical and the
/// edge sizes make problems. Errors name file and field.
Result<DeclaredOperation> parse_operation(const Fields& fields);

}  // namespace fatune
