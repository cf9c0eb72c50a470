// problem_book.hpp: Gives the problems of suites ids and states each problem's requirements.
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

/// A problem that the judge offers.
struct BookedProblem {
  std::string id;  ///< "mission/wide-causal"; "4-8-512-64-f16" for a problem without a suite
  std::string suite;
  NamedProblem named;
};

inline constexpr std::int64_t kUsualPage = 50;
struct ListProblems {
  std::optional<std::string> filter = {};  ///< substring of ids or labels; empty for all problems
  std::optional<std::int64_t> first = {};  ///< maximum number of problems; kUsualPage if empty
  std::optional<std::string> after = {};   ///< id of the last problem of the page before
};
void fields(BookedProblem& x, FieldList& f);
void fields(ListProblems& x, FieldList& f);

struct GetProblem {
  std::string id;
};
/// A tensor argument of a kernel.
struct StatedTensor {
  std::string name, role, type;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< empty if contiguous
};
struct StatedRule {
  std::string name, statement, why;
};
struct StatedMacro {
  std::string name;
  std::int64_t value = 0;
};
/// An example kernel in the form that submit_kernel takes.
struct ExampleKernel {
  std::string source, manifest;  ///< `manifest` is JSON text
};
/// All facts that a kernel's author may know: no inputs, no seeds, no expected values.
struct ProblemStatement {
  BookedProblem problem;
  std::string statement;
  std::vector<StatedTensor> tensors;
  std::vector<StatedMacro> macros;
  std::string reference;  ///< reference that outputs are compared with
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
  /// Takes attention problems with distinct ids.
  explicit ProblemBook(std::vector<BookedProblem> problems) : problems_(std::move(problems)) {}

  /// Returns all problems behind `after` that match; the caller ends the page.
  Result<std::vector<BookedProblem>> list(const ListProblems& wanted) const;
  Result<ProblemStatement> state(const GetProblem& wanted) const;
  /// Returns a problem, or a usage error that names the nearest id.
  Result<BookedProblem> find(const std::string& id) const;
  const std::vector<BookedProblem>& problems() const { return problems_; }

 private:
  std::vector<BookedProblem> problems_;
};

/// Gives the problems of a suite ids; `suite` is empty for problems from the command line.
std::vector<BookedProblem> book(const std::string& suite,
                                const std::vector<NamedProblem>& problems);

}  // namespace fatune
