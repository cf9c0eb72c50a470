// expression.hpp: Defines arithmetic over named variables, in the syntax of manifests or of Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "core/tokens.hpp"

namespace fatune {

inline constexpr std::size_t kLongestExpression = 65'536;  // chosen: lists of 10,000 numbers

/// Variables by name. The list is small; an evaluation looks each variable up once.
class Scope {
 public:
  void set(std::string_view name, double value);
  const double* find(std::string_view name) const;
  std::vector<std::string> names() const;

 private:
  std::vector<std::pair<std::string, double>> entries_;
};

/// Returns whether manifests' expressions use the word themselves: "min", "and".
bool is_expression_word(std::string_view name);

/// A parsed expression. Evaluation is not thread-safe. A division by zero makes the result
/// undefined, unless the other side decides && or ||. So `B != 0 && A % B == 0` is false for B = 0.
/// An undefined result is an error.
class Expression {
 public:
  /// `where` names file and field and is the prefix of every error.
  static Result<Expression> parse(std::string_view text, std::string where,
                                  Syntax syntax = Syntax::kManifest);

  /// Returns the variables of the expression, ascending.
  const std::vector<std::string>& variables() const { return variables_; }
  /// Fails for an unknown variable (the error names the nearest known one) and for a result that is
  /// not finite.
  Result<double> evaluate(const Scope& scope) const;
  Result<bool> test(const Scope& scope) const;
  /// Returns a whole number >= 0, for grid sizes and bytes; 2^53, which no device has, for more.
  Result<std::int64_t> count(const Scope& scope) const;

  /// For loops over many values: set() writes one variable by its index in variables(), and the
  /// functions without a scope use the values last written.
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
  /// A step of a stack machine's program.
  struct Step {
    Do what;
    std::uint32_t target = 0;  ///< slot of a variable or kept number; index of the next step
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
  mutable std::vector<double> values_;        ///< values of the variables
  mutable std::vector<double> stack_, kept_;  ///< stack of run()
};

}  // namespace fatune
