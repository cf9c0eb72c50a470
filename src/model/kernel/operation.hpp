// operation.hpp: Defines what kernels compute: attention or a declared operation.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/json.hpp"
#include "core/result.hpp"
#include "model/problem/input_case.hpp"
#include "model/problem/problem.hpp"
#include "model/problem/tensor.hpp"

namespace fatune {

/// A size as declared; `--size` gives it a value.
struct SizeSpec {
  std::string name;  ///< name of the macro, unless `runtime`
  std::string meaning;
  bool runtime = false;  ///< an argument of the kernel, not part of its machine code
};

struct TensorSpec {
  std::string name;
  std::string type = "io";         ///< "io" (the problem's), or the name of a type
  std::vector<std::string> shape;  ///< expressions, the fastest dimension last
  bool output = false;
  /// Says what an input holds, or an output that is read: normal, uniform, zeros, constant or file.
  std::optional<std::string> fill;
  std::optional<double> scale, offset;   ///< of normal and uniform
  std::optional<std::int64_t> from, to;  ///< range of uniform integers, both included
  std::optional<double> value;           ///< of constant
  std::string file;                      ///< of file, from the manifest's folder
};
Fill fill_of(const TensorSpec& tensor);

/// An awkward problem, usually small, that finalists must solve.
struct EdgeProblem {
  Problem problem;
  std::vector<InputCase> cases;
  bool last_resort = false;  ///< for configs that support no other edge problem
};

struct DeclaredOperation;

/// The computation of kernels: built-in attention or a declared operation. Kernels of one operation
/// compete on its problems.
struct Operation {
  std::string name;
  std::string text;  ///< the declaration, hashed into identities; empty for attention

  virtual ~Operation() = default;
  /// Returns the tensors and the tolerance of a problem.
  virtual Result<OperationPlan> plan(const Problem& problem) const = 0;
  /// Returns the possible arguments of a stage besides scratch memory and tensor maps.
  virtual std::vector<std::string> tensor_names() const = 0;
  /// Returns the problem with all sizes 1; only its names matter.
  virtual Problem smallest_problem() const = 0;
  /// Returns the part of a problem that one launch of the reference computes. For attention one
  /// contiguous head, so that the reference compiles in no stride of the kernels, or without a mask
  /// as many of its rows as have 2 GiB of scores. The whole problem for other operations, and where
  /// an expression names heads.
  virtual Problem reference_problem(const Problem& problem) const = 0;
  /// Returns the inputs that finalists meet besides search_cases().
  virtual std::vector<InputCase> hard_cases(const Problem& problem, std::uint64_t seed) const = 0;
  /// Returns edge problems with the element type and the other compiled-in properties of `like`.
  virtual Result<std::vector<EdgeProblem>> edge_problems(const Problem& like,
                                                         std::uint64_t seed) const = 0;
  /// Returns the command line option for a problem's sizes.
  virtual std::string_view size_option() const = 0;
  /// Returns the declaration, for the few users of declared properties; null for attention.
  virtual const DeclaredOperation* declared() const { return nullptr; }
};
using OperationRef = std::shared_ptr<const Operation>;

/// Returns the attention operation. Its hard inputs are all distributions. If the reference is too
/// slow for the problem, one head group becomes an edge problem with these inputs. Other edge
/// problems have sequences of 1, 17 and one beside a tile's edge, odd heads, and batches of 1, 2, 4
/// and 8. They also have grouped heads and unequal lengths (causal rows that see no key). The last
/// resort has more rows than a wave of CTAs, for kernels that fill whole waves.
const OperationRef& attention();

/// Returns two seeds of N(0,1), or of the declared fills. fp8 problems add values of 1. Fused
/// problems add heads of zeros and heads that are not finite, because quantizing can fail there.
std::vector<InputCase> search_cases(const Problem& problem, std::uint64_t seed);

/// An operation that the reference's manifest declares. kernels/README.md lists the fields.
struct DeclaredOperation final : Operation {
  std::string summary;
  std::vector<SizeSpec> sizes;
  std::vector<TensorSpec> tensors;
  /// Problems for lint, of which the first is the example: as declared, or the edges, or ones.
  std::vector<std::vector<NamedSize>> typical;
  std::vector<std::vector<NamedSize>> edges;  ///< small problems that finalists must solve
  std::vector<std::string> hard_inputs;       ///< distributions that finalists meet
  std::optional<DeclaredTolerance> tolerance;
  std::string flops, bytes_read, bytes_written;  ///< expressions; empty: undeclared, all tensors
  /// True if the reference's manifest lists element types; --dtype chooses one of them.
  bool typed = true;
  std::string where;             ///< "x.json: field 'operation'", for messages
  std::filesystem::path folder;  ///< of the manifest; empty if it has none

  Result<OperationPlan> plan(const Problem& problem) const override;
  std::vector<std::string> tensor_names() const override;
  Problem smallest_problem() const override;
  Problem reference_problem(const Problem& problem) const override { return problem; }
  std::vector<InputCase> hard_cases(const Problem& problem, std::uint64_t seed) const override;
  /// Returns the declared edge problems; the last one also has the hard inputs.
  Result<std::vector<EdgeProblem>> edge_problems(const Problem& like,
                                                 std::uint64_t seed) const override;
  std::string_view size_option() const override { return "--size"; }
  const DeclaredOperation* declared() const override { return this; }

  /// Returns the problem of these sizes, in any order. A missing or unknown size, or a tensor that
  /// is too large, is a usage error with a working example.
  Result<Problem> problem(const std::vector<NamedSize>& sizes, Dtype dtype) const;
  std::vector<Problem> typical_problems(Dtype dtype) const;
  /// Holds data files against the tensors of the problem and of the edges.
  Status check_data(const Problem& problem) const;
  /// Returns an example for messages: "--size ROWS=4096,COLUMNS=1024".
  std::string example() const;
};

/// Returns whether the kernel reads the tensor.
inline bool is_read(const TensorSpec& tensor) { return !tensor.output || tensor.fill; }

/// Most inputs of an operation with dependent launches; the gate early_start exchanges up to this
/// many.
inline constexpr std::size_t kMostEarlyInputs = 6;

/// Reads and checks the object under 'operation' of a reference's manifest: names, expressions, and
/// the problems of typical and edge sizes. `where` is the file; errors name file and field.
Result<DeclaredOperation> parse_operation(const Json& root, const std::string& where);
void fields(DeclaredOperation& x, FieldList& f);

}  // namespace fatune
