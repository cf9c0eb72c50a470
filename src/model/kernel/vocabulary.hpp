// vocabulary.hpp: Defines the names that manifests and templates share, their values, and terms.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/kernel/expression.hpp"
#include "model/kernel/limits.hpp"
#include "model/kernel/manifest.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

/// Joins a parameter and its word: "REDUCE" and "warp" give "REDUCE_WARP".
std::string word_constant(std::string_view parameter, std::string_view word);
/// Returns the constant of every word of every parameter, with its number.
std::vector<NamedSize> word_constants(const Manifest& manifest);
/// Tells whether fatune defines the name itself. A kernel of the operation must not use it for a
/// parameter or a word's constant.
bool is_reserved_name(std::string_view name, const Operation& operation);
/// Returns the names that expressions can use besides parameters: problem, element types, device.
std::vector<std::string> fixed_names(const Operation& operation);
/// Returns the names for an operation's own expressions: its sizes and the element type.
std::vector<std::string> problem_names(const Operation& operation);
/// Returns all names that this manifest's expressions can use.
std::vector<std::string> expression_names(const Manifest& manifest);
/// Returns the values of fixed_names().
Scope fixed_scope(const Problem& problem, const DeviceLimits& limits);
/// Returns the values of fixed_names() and of word constants: everything independent of a config.
Scope config_free_scope(const Manifest& manifest, const Problem& problem,
                        const DeviceLimits& limits);
/// Returns the problem's softmax scale as a float.
float softmax_scale(const Attention& problem);

/// Replaces each name in an expression or a name of C++ by what `found` returns, unless empty.
std::string with_names_replaced(std::string_view text,
                                const std::function<std::string(std::string_view)>& found);

/// Replaces each term's name by its parenthesised value over parameters and fixed names. Messages
/// show the text as written; evaluation uses the expanded text.
std::string expand_terms(const Manifest& manifest, std::string_view text);

/// Returns `rule`, from the parameter's 'when', as a constraint: "STAGGER == 0 || (PINGPONG == 1)".
std::string choice_text(const Parameter& parameter, const Rule& rule);

/// Evaluates the expressions of a manifest for one candidate. Refers to the manifest.
class Evaluation {
 public:
  Evaluation(const Manifest& manifest, Scope scope)
      : manifest_(manifest), scope_(std::move(scope)) {}

  /// Prefix of errors: "naive.json: field 'stages[0].grid'".
  std::string place(const std::string& path) const;
  Result<std::int64_t> count(const std::string& text, const std::string& path) const;
  Result<double> number(const std::string& text, const std::string& path) const;
  /// See runtime_text().
  Result<std::string> runtime(std::string_view text) const;
  /// Writes extents over run-time sizes, `values` where an extent has none; empty if all have none.
  Result<std::vector<std::string>> extents(std::span<const std::string> texts,
                                           std::span<const std::int64_t> values) const;

 private:
  const Manifest& manifest_;
  Scope scope_;
};

}  // namespace fatune
