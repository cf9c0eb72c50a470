// rule.cpp: Prints, checks and evaluates expressions over a query-key pair.
#include "model/problem/rule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/problem/rule_operators.hpp"

namespace fatune {
namespace {

using Type = RuleOperator::Type;

std::string number_text(double number, bool is_float, bool as_code) {
  if (!is_float) return fmt::format("{}", static_cast<std::int64_t>(number));
  std::string text =
      as_code ? fmt::format("{:.9g}", static_cast<float>(number)) : fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return as_code ? text + "f" : text;
}

Range range_of(const Indices& indices) { return {indices.least, indices.most}; }

/// Returns the pairs of the whole problem.
Pairs all_of(const Attention& p) {
  return {{0, p.batch - 1}, {0, p.heads - 1}, {0, p.seq_q - 1}, {0, p.seq_kv - 1}};
}

const Indices* indices_of(const Pairs& pairs, std::string_view name) {
  if (name == "b") return &pairs.batch;
  if (name == "h") return &pairs.head;
  if (name == "q") return &pairs.query;
  return name == "k" ? &pairs.key : nullptr;
}

/// Returns why an operator of these ranges has no result of 32 bits; empty if it has one.
std::string range_fault(const RuleOperator& what, const Range& right) {
  if (what.token == "/" || what.token == "%" || what.token.starts_with("floor_")) {
    if (right.lo <= 0 && right.hi >= 0)
      return fmt::format("'{}' may divide by 0: max(divisor, 1) does not", what.token);
  }
  const bool shifts = what.level == RuleLevel::kShift;
  if (shifts && (right.lo < 0 || right.hi > 30))
    return fmt::format("'{}' shifts by {} to {}, but must by 0 to 30", what.token, right.lo,
                       right.hi);
  return {};
}

bool is_wide(const Range& range) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return range.lo < -kMost || range.hi > kMost;
}

/// The ranges of a rule's whole numbers; a float's is never looked at.
std::vector<Range> ranges_of(std::span<const RuleNode> nodes, const Attention& problem,
                             const Pairs& pairs, std::string* fault) {
  std::vector<Range> ranges;
  for (const RuleNode& node : nodes) {
    const RuleOperator& what = *node.what;
    Range made = static_cast<std::int64_t>(node.is_float ? 0 : node.number);
    if (const Indices* indices = indices_of(pairs, what.token)) made = range_of(*indices);
    if (what.size != nullptr) made = problem.*what.size;
    bool of_floats = node.is_float;
    for (std::size_t i = 0; i < what.operands; ++i)
      of_floats = of_floats || nodes[node.operands[i]].is_float;
    if (what.operands > 0 && of_floats) made = {0, 1};
    if (what.operands > 0 && !of_floats) {
      const auto operand = [&](std::size_t i) { return ranges[node.operands[i]]; };
      const Range a = operand(0), b = what.operands > 1 ? operand(1) : a;
      if (fault != nullptr && fault->empty()) *fault = range_fault(what, b);
      if (fault != nullptr && !fault->empty()) return ranges;
      made = what.range(a, b, what.operands > 2 ? operand(2) : a);
    }
    if (fault != nullptr && is_wide(made))
      *fault = fmt::format("'{}' reaches {}, but numbers have 32 bits", what.token,
                           std::abs(made.lo) > std::abs(made.hi) ? made.lo : made.hi);
    ranges.push_back(made);
  }
  return ranges;
}

}  // namespace

std::string PairRule::operand_text(const RuleNode& node, std::size_t i, bool as_code) const {
  const RuleNode& inner = operand(node, i);
  std::string text = print(inner, as_code);
  const RuleLevel level = node.what->level;
  const bool mixed_logic = (level == RuleLevel::kOr && inner.what->level == RuleLevel::kAnd) ||
                           (compares(level) && compares(inner.what->level));
  const bool weaker = inner.what->level < level || (inner.what->level == level && i > 0);
  if (level != RuleLevel::kPrimary && (weaker || mixed_logic)) text = "(" + text + ")";
  // Arms of ?:, min and max are of one type.
  const bool joins = node.what->token == "?" ? i > 0 : level == RuleLevel::kPrimary;
  return as_code && joins && node.is_float && !inner.is_float ? "float(" + text + ")" : text;
}

std::string PairRule::print(const RuleNode& node, bool as_code) const {
  const RuleOperator& what = *node.what;
  const auto side = [&](std::size_t i) { return operand_text(node, i, as_code); };
  if (&what == &number_row()) {
    const std::string text = number_text(node.number, node.is_float, as_code);
    return as_code && !node.is_float ? "Int(" + text + ")" : text;
  }
  if (what.token == "INFINITY" && as_code) return "(-NEG_INF)";
  if (what.operands == 0)
    return std::string(what.size != nullptr && as_code ? fmt::format("Int({})", what.token)
                                                       : std::string(what.token));
  if (what.token == "?" && !as_code) return fmt::format("{} ? {} : {}", side(0), side(1), side(2));
  if (what.token == "?") return fmt::format("either({}, {}, {})", side(0), side(1), side(2));
  if (what.level == RuleLevel::kUnary) return fmt::format("{}{}", what.token, side(0));
  if (what.level != RuleLevel::kPrimary)
    return fmt::format("{} {} {}", side(0), what.token, side(1));
  const std::string prefix =
      as_code && what.type == Type::kFloat && what.token != "float" ? "score_" : "";
  return fmt::format("{}{}({}{})", prefix, what.token, side(0),
                     what.operands > 1 ? ", " + side(1) : "");
}

std::string PairRule::print_calls(const RuleNode& node) const {
  if (node.what == &number_row()) return number_text(node.number, node.is_float, false);
  if (node.what->operands == 0) return std::string(node.what->token);
  std::vector<std::string> sides;
  for (std::size_t i = 0; i < node.what->operands; ++i)
    sides.push_back(print_calls(operand(node, i)));
  return fmt::format("o[\"{}\"]({})", node.what->token, join(sides, ", "));
}

std::string PairRule::calls() const { return print_calls(nodes_.back()); }

std::string PairRule::text() const { return print(nodes_.back(), false); }
std::string PairRule::as_conjunct() const {
  return nodes_.back().what->level < RuleLevel::kAnd ? "(" + text() + ")" : text();
}
std::string PairRule::code() const { return print(nodes_.back(), true); }

bool PairRule::uses(std::string_view name) const {
  return std::ranges::any_of(nodes_,
                             [&](const RuleNode& node) { return node.what->token == name; });
}

std::string PairRule::fault(const Attention& problem) const {
  std::string fault;
  ranges_of(nodes_, problem, all_of(problem), &fault);
  return fault;
}

std::optional<bool> PairRule::shows(const Attention& problem, const Pairs& pairs) const {
  const Range range = ranges_of(nodes_, problem, pairs, nullptr).back();
  if (range.always()) return true;
  if (!range.ever()) return false;
  return std::nullopt;
}

std::vector<double> PairRule::column(const RuleNode& node, const Attention& problem,
                                     const Pairs& row, std::span<const double> scores) const {
  const RuleOperator& what = *node.what;
  std::vector<double> made(scores.size(), node.number);
  if (what.token == "score") return {scores.begin(), scores.end()};
  if (what.token == "INFINITY") std::ranges::fill(made, std::numeric_limits<double>::infinity());
  if (what.size != nullptr) std::ranges::fill(made, static_cast<double>(problem.*what.size));
  if (const Indices* indices = indices_of(row, what.token)) {
    const bool steps = what.token == "k";
    for (std::size_t i = 0; i < made.size(); ++i)
      made[i] = static_cast<double>(indices->least + (steps ? static_cast<std::int64_t>(i) : 0));
  }
  if (what.operands == 0) return made;
  std::array<std::vector<double>, 3> sides;
  for (std::size_t i = 0; i < sides.size(); ++i)
    sides[i] = i < what.operands ? column(operand(node, i), problem, row, scores) : sides[0];
  const bool truncates = what.token == "/" && !node.is_float;
  for (std::size_t i = 0; i < made.size(); ++i) {
    made[i] = what.number(sides[0][i], sides[1][i], sides[2][i]);
    if (truncates) made[i] = std::trunc(made[i]);
  }
  return made;
}

void PairRule::evaluate(const Attention& problem, const Pairs& row,
                        std::span<double> values) const {
  const std::vector<double> made = column(nodes_.back(), problem, row, values);
  std::ranges::copy(made, values.begin());
}

}  // namespace fatune
