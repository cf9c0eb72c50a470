// expression.hpp - arithmetic of manifests, and of files in Python's syntax, over named variables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"

namespace fatune {

inline constexpr std::size_t kLongestExpression = 4096;  // chosen: no manifest comes near it

/// Variables by name. Small; looked up once per evaluation's variable.
class Scope {
 public:
  void set(std::string_view name, double value);
  const double* find(std::string_view name) const;
  std::vector<std::string> names() const;

 private:
  std::vector<std::pair<std::string, double>> entries_;
};

/// `kManifest`: see kernels/README.md for operators and functions. `kPython`: and, or, not,
/// comparisons and chains of them, in, + - * /, // and % that round down, min, max, True, False; at
/// most 64 KB.
enum class Syntax { kManifest, kPython };

/// Names, numbers, operators and what stands in quotes, each a part of the text.
std::vector<std::string_view> tokens_of(std::string_view text, Syntax syntax);

/// A parsed expression. Evaluation is not thread-safe. What divides by zero is undefined, and so is
/// what is computed from it, except where && or || is decided by its other side:
/// `B != 0 && A % B == 0` is false for B = 0. An undefined result is an error.
class Expression {
 public:
  /// `where` names file and field and goes in front of every error.
  static Result<Expression> parse(std::string_view text, std::string where,
                                  Syntax syntax = Syntax::kManifest);

  /// Those the expression uses, ascending.
  const std::vector<std::string>& variables() const { return variables_; }
  /// An unknown variable (with the nearest known name) and a result that is not finite are errors.
  Result<double> evaluate(const Scope& scope) const;
  Result<bool> test(const Scope& scope) const;
  /// A whole number >= 0, as grid sizes and bytes must be.
  Result<std::int64_t> count(const Scope& scope) const;

  /// For loops over many values: set() writes one variable, given by its position in variables(),
  /// and the functions without a scope use what was written last.
  void set(std::size_t variable, double value) { values_[variable] = value; }
  Result<double> evaluate() const;
  Result<bool> test() const;
  Result<std::int64_t> count() const;

 private:
  friend class ExpressionParser;
  enum class Do : std::uint8_t {
    kNumber,
    kVariable,
    kKeep,
    kRecall,
    kJump,
    kChoose,
    kAndThen,
    kOrElse,
    kCall1,
    kCall2
  };
  /// Of a program for a stack of numbers.
  struct Step {
    Do what;
    std::uint32_t target = 0;  ///< slot of a variable or kept number; the step to go on with
    double number = 0;
    double (*function)(double, double) = nullptr;
  };

  Expression() = default;
  Status bind(const Scope& scope) const;
  double run() const;
  Error error(const std::string& problem) const;
  std::string values_text() const;

  std::string text_, where_;
  std::vector<std::string> variables_;
  std::vector<Step> steps_;
  mutable std::vector<double> values_;        ///< of the variables
  mutable std::vector<double> stack_, kept_;  ///< room for run()
};

}  // namespace fatune
