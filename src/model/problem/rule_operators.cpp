// rule_operators.cpp: Lists the names, operators and functions of expressions.
#include "model/problem/rule_operators.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fatune {
namespace {

using Type = RuleOperator::Type;
using Level = RuleLevel;

std::int64_t whole(double value) { return static_cast<std::int64_t>(value); }
double truth(bool value) { return value ? 1 : 0; }

// One row a line: what an operator does to numbers, and to ranges of whole numbers.
#define ROW(token, level, operands, type, number, range)            \
  RuleOperator {                                                    \
    token, Level::level, operands, Type::type,                      \
        []([[maybe_unused]] double a, [[maybe_unused]] double b,    \
           [[maybe_unused]] double c) -> double { return number; }, \
        []([[maybe_unused]] Range a, [[maybe_unused]] Range b,      \
           [[maybe_unused]] Range c) -> Range { return range; }     \
  }
#define FLOAT_FUNCTION(name, number) ROW(name, kPrimary, 1, kFloat, number, a)

const RuleOperator kOperators[] = {
    {"0", Level::kPrimary},
    ROW("?", kChoice, 3, kSame, a != 0 ? b : c, either(a, b, c)),
    {"b"},
    {"h"},
    {"q"},
    {"k"},
    {.token = "BATCH", .size = &Attention::batch},
    {.token = "HEADS", .size = &Attention::heads},
    {.token = "KV_HEADS", .size = &Attention::kv_heads},
    {.token = "SEQ_Q", .size = &Attention::seq_q},
    {.token = "SEQ_KV", .size = &Attention::seq_kv},
    {.token = "HEAD_DIM", .size = &Attention::head_dim},
    {.token = "score", .type = Type::kFloat},
    {.token = "INFINITY", .type = Type::kFloat},
    {.token = "[", .operands = 1},
    {.token = "[", .operands = 2},
    {.token = "[", .operands = 3},
    ROW("||", kOr, 2, kTruth, truth(a != 0 || b != 0), a || b),
    ROW("&&", kAnd, 2, kTruth, truth(a != 0 && b != 0), a&& b),
    ROW("|", kBitOr, 2, kWhole, static_cast<double>(whole(a) | whole(b)), a | b),
    ROW("^", kBitXor, 2, kWhole, static_cast<double>(whole(a) ^ whole(b)), a ^ b),
    ROW("&", kBitAnd, 2, kWhole, static_cast<double>(whole(a) & whole(b)), a& b),
    ROW("==", kEqual, 2, kTruth, truth(a == b), a == b),
    ROW("!=", kEqual, 2, kTruth, truth(a != b), a != b),
    ROW("<", kOrder, 2, kTruth, truth(a < b), a < b),
    ROW("<=", kOrder, 2, kTruth, truth(a <= b), a <= b),
    ROW(">", kOrder, 2, kTruth, truth(a > b), a > b),
    ROW(">=", kOrder, 2, kTruth, truth(a >= b), a >= b),
    ROW("<<", kShift, 2, kWhole, a* std::exp2(b), a << b),
    ROW(">>", kShift, 2, kWhole, std::floor(a* std::exp2(-b)), a >> b),
    ROW("+", kSum, 2, kSame, a + b, a + b),
    ROW("-", kSum, 2, kSame, a - b, a - b),
    ROW("*", kProduct, 2, kSame, a* b, a* b),
    ROW("/", kProduct, 2, kSame, a / b, a / b),
    ROW("%", kProduct, 2, kWhole, std::fmod(a, b), a % b),
    ROW("-", kUnary, 1, kSame, -a, -a),
    ROW("!", kUnary, 1, kTruth, truth(a == 0), !a),
    ROW("~", kUnary, 1, kWhole, -a - 1, ~a),
    ROW("min", kPrimary, 2, kSame, std::min(a, b), min(a, b)),
    ROW("max", kPrimary, 2, kSame, std::max(a, b), max(a, b)),
    ROW("abs", kPrimary, 1, kSame, std::abs(a), abs(a)),
    ROW("floor_div", kPrimary, 2, kWhole, std::floor(a / b), floor_div(a, b)),
    ROW("floor_mod", kPrimary, 2, kWhole, a - std::floor(a / b) * b, floor_mod(a, b)),
    FLOAT_FUNCTION("float", a),
    FLOAT_FUNCTION("exp", std::exp(a)),
    FLOAT_FUNCTION("exp2", std::exp2(a)),
    FLOAT_FUNCTION("log", std::log(a)),
    FLOAT_FUNCTION("log2", std::log2(a)),
    FLOAT_FUNCTION("sqrt", std::sqrt(a)),
    FLOAT_FUNCTION("tanh", std::tanh(a)),
};
#undef FLOAT_FUNCTION
#undef ROW

}  // namespace

std::span<const RuleOperator> rule_operators() { return kOperators; }

const RuleOperator* find_operator(std::string_view token, std::size_t operands) {
  const auto found = std::ranges::find_if(kOperators, [&](const RuleOperator& row) {
    return row.token == token && row.operands == operands;
  });
  return found == std::end(kOperators) ? nullptr : found;
}

const RuleOperator& number_row() { return kOperators[0]; }
const RuleOperator& choice_row() { return kOperators[1]; }

}  // namespace fatune
