// vocabulary.hpp - the names manifests and templates share, and their values for a problem; terms,
// and where parameters are choices.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/kernel/expression.hpp"
#include "model/kernel/limits.hpp"
#include "model/kernel/manifest.hpp"
#include "model/problem/problem.hpp"

namespace fatune {

/// "REDUCE" and "warp" give "REDUCE_WARP".
std::string word_constant(std::string_view parameter, std::string_view word);
/// Of every word of every parameter, with its number.
std::vector<NamedSize> word_constants(const Manifest& manifest);
/// A name that fatune defines itself, hence none for a parameter or a word's constant of a kernel
/// that computes the operation.
bool is_reserved_name(std::string_view name, const Operation& operation);
/// What expressions can use besides parameters: problem, element types, device.
std::vector<std::string> fixed_names(const Operation& operation);
/// What an operation's own expressions can use: its sizes and the element type.
std::vector<std::string> problem_names(const Operation& operation);
/// All that expressions of this manifest can use.
std::vector<std::string> expression_names(const Manifest& manifest);
/// The values of fixed_names().
Scope fixed_scope(const Problem& problem, const DeviceLimits& limits);
/// The values of fixed_names() and of the words' constants: all that does not depend on a config.
Scope config_free_scope(const Manifest& manifest, const Problem& problem,
                        const DeviceLimits& limits);
/// 1/sqrt(head_dim), as a float.
float softmax_scale(const Problem& problem);

/// Reads 'terms' into the manifest, whose parameters must be there by then.
Status parse_terms(const Fields& root, Manifest& manifest);

/// The text with the value of each term, in parentheses, where its name stands: over parameters and
/// fixed names only. What people see stays as written; what is evaluated is expanded first.
std::string expand_terms(const Manifest& manifest, std::string_view text);

/// Reads 'when' of a parameter: rules, or an expression as short for one rule that prunes.
Result<std::vector<Rule>> parse_when(const Fields& parameter);

/// Fails when a 'when' does not parse or names a parameter that is not listed before its own. The
/// manifest's parameters and terms must be there by then.
Status check_choices(const Manifest& manifest);

/// `rule`, of the parameter's 'when', as a constraint: "STAGGER == 0 || (PINGPONG == 1)".
std::string choice_text(const Parameter& parameter, const Rule& rule);

/// Evaluates the expressions of a manifest for one candidate. Refers to the manifest.
class Evaluation {
 public:
  Evaluation(const Manifest& manifest, Scope scope)
      : manifest_(manifest), scope_(std::move(scope)) {}

  /// "naive.json: field 'stages[0].grid'"
  std::string place(const std::string& path) const;
  Result<std::int64_t> count(const std::string& text, const std::string& path) const;
  Result<double> number(const std::string& text, const std::string& path) const;

 private:
  const Manifest& manifest_;
  Scope scope_;
};

}  // namespace fatune
