// problem_book.hpp - suites to problems with ids, and what one of them asks of a kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"
#include "model/problem/suite.hpp"

namespace fatune {

/// A problem that the judge knows.
struct BookedProblem {
  std::string id;  ///< "mission/wide-causal"; of a problem without a suite "4-8-512-64-f16"
  std::string suite;
  NamedProblem named;
};

struct ListProblems {
  std::optional<std::string> filter;  ///< a part of ids or labels; none: all
};
void fields(BookedProblem& x, FieldList& f);
void fields(ListProblems& x, FieldList& f);

struct GetProblem {
  std::string id;
};
/// A tensor that kernels are passed.
struct StatedTensor {
  std::string name, role, type;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< empty: contiguous
};
struct StatedRule {
  std::string name, statement, why;
};
struct StatedMacro {
  std::string name;
  std::int64_t value = 0;
};
/// What submit_kernel takes of a kernel.
struct ExampleKernel {
  std::string source, manifest;  ///< the manifest is JSON text
};
/// All that a kernel's author may know: no inputs, no seeds, no expected values.
struct ProblemStatement {
  BookedProblem problem;
  std::string statement;
  std::vector<StatedTensor> tensors;
  std::vector<StatedMacro> macros;
  std::string reference;  ///< what results are compared with
  std::vector<StatedRule> tolerance;
  std::vector<StatedRule> gates;
  ExampleKernel example;
};
void fields(GetProblem& x, FieldList& f);
void fields(StatedTensor& x, FieldList& f);
void fields(StatedRule& x, FieldList& f);
void fields(StatedMacro& x, FieldList& f);
void fields(ExampleKernel& x, FieldList& f);
void fields(ProblemStatement& x, FieldList& f);

class ProblemBook {
 public:
  /// Of problems of attention; their ids differ.
  explicit ProblemBook(std::vector<BookedProblem> problems) : problems_(std::move(problems)) {}

  std::vector<BookedProblem> list(const ListProblems& wanted) const;
  Result<ProblemStatement> state(const GetProblem& wanted) const;
  /// A usage error with the nearest id when there is none.
  Result<BookedProblem> find(const std::string& id) const;
  const std::vector<BookedProblem>& problems() const { return problems_; }

 private:
  std::vector<BookedProblem> problems_;
};

/// Ids for the problems of a suite; an empty name for problems that were typed.
std::vector<BookedProblem> book(const std::string& suite,
                                const std::vector<NamedProblem>& problems);

}  // namespace fatune
