// operation.hpp - an operation that a manifest declares, and its problems: sizes to tensors, work
// and tolerance.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

/// The reference defines it, other kernels compete at it. See kernels/README.md for the fields.
struct Operation {
  std::string name, summary;
  std::vector<SizeSpec> sizes;
  std::vector<TensorSpec> tensors;
  std::vector<std::vector<NamedSize>> typical;  ///< where lint looks; the first is the example
  std::vector<std::vector<NamedSize>> edges;    ///< small awkward ones that finalists must solve
  std::vector<std::string> hard_inputs;         ///< names of distributions that finalists meet
  std::optional<DeclaredTolerance> tolerance;
  std::string flops, bytes_read, bytes_written;  ///< expressions; empty: not told, all tensors
  std::string where;                             ///< "x.json: field 'operation'", for messages
  std::string text;                              ///< the declaration, for identities
};
using OperationRef = std::shared_ptr<const Operation>;

/// Most inputs of an operation with dependent launches: the gate early_start exchanges as many.
inline constexpr std::size_t kMostEarlyInputs = 3;

/// Reads and checks the object under 'operation': names, expressions, and that the typical and the
/// edge sizes make problems. Errors name file and field.
Result<Operation> parse_operation(const Fields& fields);

/// The problem of these sizes, in any order. A size that is missing, unknown, or makes a tensor too
/// large is a usage error with an example that works.
Result<Problem> own_problem(const Operation& operation, const std::vector<NamedSize>& sizes,
                            Dtype dtype);
/// All sizes 1: for names, not for values.
Problem smallest_problem(const Operation& operation);
/// Those that the declaration calls typical.
std::vector<Problem> typical_problems(const Operation& operation, Dtype dtype);
/// The part of a problem of this operation that a device worker needs.
Result<OwnPlan> own_plan(const Operation& operation, const Problem& problem);

/// The operation's name, or "attention" for none.
std::string_view operation_name(const OperationRef& operation);
std::string_view operation_name(const Problem& problem);
/// "--size ROWS=4096,COLUMNS=1024": an example for messages.
std::string example_sizes(const Operation& operation);

}  // namespace fatune
