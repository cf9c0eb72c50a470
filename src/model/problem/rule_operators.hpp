// rule_operators.hpp: Lists the names, operators and functions of expressions, and what they do to
// numbers and to ranges of numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "model/problem/problem.hpp"

#define DEVICE inline
#include "../kernels/common/interval.cuh"
#undef DEVICE

namespace fatune {

using Range = Interval<std::int64_t>;

/// C's precedence, lowest first.
enum class RuleLevel {
  kChoice,
  kOr,
  kAnd,
  kBitOr,
  kBitXor,
  kBitAnd,
  kEqual,
  kOrder,
  kShift,
  kSum,
  kProduct,
  kUnary,
  kPrimary
};

inline bool compares(RuleLevel level) {
  return level == RuleLevel::kEqual || level == RuleLevel::kOrder;
}

/// A row of the table: a name, a number, an operator, a function or an element of a tensor.
struct RuleOperator {
  std::string_view token;
  RuleLevel level = RuleLevel::kPrimary;
  std::size_t operands = 0;
  enum class Type {
    kWhole,  ///< whole numbers to a whole number
    kSame,   ///< a float if an operand is one
    kTruth,  ///< any numbers to a whole one
    kFloat   ///< a float; of scores only
  } type = Type::kWhole;
  double (*number)(double, double, double) = nullptr;
  Range (*range)(Range, Range, Range) = nullptr;
  std::int64_t Attention::*size = nullptr;  ///< of a size's name
};

std::span<const RuleOperator> rule_operators();
/// Returns the row of an operator, name or function with so many operands; null if there is none.
const RuleOperator* find_operator(std::string_view token, std::size_t operands);
const RuleOperator& number_row();                  ///< of literals
const RuleOperator& choice_row();                  ///< ?:
inline constexpr std::string_view kElement = "[";  ///< token of an element

}  // namespace fatune
