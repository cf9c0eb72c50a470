// expression.hpp - arithmetic of the manifests, over named variables; wraps the expression library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
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

/// A parsed expression; see kernels/README.md for operators and functions. Evaluation is not
/// thread-safe. What divides by zero is undefined, and so is what is computed from it, except where
/// && or || is decided by its other side: `B != 0 && A % B == 0` is false for B = 0. An undefined
/// result or condition is an error.
class Expression {
 public:
  /// `where` names file and field and goes in front of every error.
  static Result<Expression> parse(std::string_view text, std::string where);
  Expression(Expression&&) noexcept;
  Expression& operator=(Expression&&) noexcept;
  ~Expression();

  const std::string& text() const;
  const std::string& where() const;
  const std::vector<std::string>& variables() const;  ///< used by the expression
  /// An unknown variable (with the nearest known name) and a result that is not finite are errors.
  Result<double> evaluate(const Scope& scope) const;
  Result<bool> test(const Scope& scope) const;
  /// A whole number >= 0, as grid sizes and bytes must be.
  Result<std::int64_t> count(const Scope& scope) const;

  /// For loops over many values: set() writes one variable, given by its position in variables(),
  /// and the functions without a scope use what was written last.
  void set(std::size_t variable, double value);
  Result<double> evaluate() const;
  Result<bool> test() const;
  Result<std::int64_t> count() const;

 private:
  struct Parsed;
  explicit Expression(std::unique_ptr<Parsed> parsed);
  std::unique_ptr<Parsed> parsed_;
};

}  // namespace fatune
