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

/// Returns the range of a tensor's elements at indices of these ranges. With a `fault`, which is
/// set if an index may be outside, the range is that of all elements that a tensor can have:
/// kernels read other values at run time.
Range range_of_elements(const RuleNode& node, const Attention& problem,
                        std::span<const Range> indices, std::string* fault) {
  const NamedTensor* const tensor = find_tensor(problem, node.tensor);
  const auto refused = [&](const std::string& why) {
    if (fault != nullptr && fault->empty()) *fault = why;
    return Range(0, 0);
  };
  if (tensor == nullptr)
    return refused(
        fmt::format("reads the tensor '{0}', which is not declared; --tensor or "
                    "tensors may have '{0}=i32[SIZE]:VALUES'",
                    node.tensor));
  if (tensor->shape.size() != indices.size())
    return refused(fmt::format("'{}' has an index for each size: {}, not {}", node.tensor,
                               tensor->shape.size(), indices.size()));
  std::int64_t first = 0, last = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::int64_t size = tensor->shape[i];
    if (indices[i].lo < 0 || indices[i].hi >= size)
      return refused(fmt::format(
          "index {} of '{}' is from {} to {}, but must be from 0 to {}: use min and max", i + 1,
          node.tensor, indices[i].lo, indices[i].hi, size - 1));
    first = first * size + indices[i].lo;
    last = last * size + indices[i].hi;
  }
  if (node.is_float) return {0, 1};
  if (fault != nullptr) return {-kMostWhole, kMostWhole};
  const NamedTensor::Values values = tensor->values(first, last);
  return {values.least, values.most};
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
    const bool is_element = what.token == kElement;
    if (is_element) {
      std::vector<Range> indices;
      for (std::size_t i = 0; i < what.operands; ++i) indices.push_back(ranges[node.operands[i]]);
      made = range_of_elements(node, problem, indices, fault);
    } else if (what.operands > 0 && of_floats) {
      made = {0, 1};
    } else if (what.operands > 0) {
      const auto operand = [&](std::size_t i) { return ranges[node.operands[i]]; };
      const Range a = operand(0), b = what.operands > 1 ? operand(1) : a;
      if (fault != nullptr && fault->empty()) *fault = range_fault(what, b);
      if (fault != nullptr && !fault->empty()) return ranges;
      made = what.range(a, b, what.operands > 2 ? operand(2) : a);
    }
    if (fault != nullptr && fault->empty() && is_wide(made))
      *fault = fmt::format("'{}' reaches {}, but numbers have 32 bits", what.token,
                           std::abs(made.lo) > std::abs(made.hi) ? made.lo : made.hi);
    ranges.push_back(made);
  }
  return ranges;
}

}  // namespace

std::string PairRule::operand_text(const RuleNode& node, std::size_t i,
                                   const Attention* code_of) const {
  const RuleNode& inner = operand(node, i);
  std::string text = print(inner, code_of);
  const RuleLevel level = node.what->level;
  const bool mixed_logic = (level == RuleLevel::kOr && inner.what->level == RuleLevel::kAnd) ||
                           (compares(level) && compares(inner.what->level));
  const bool weaker = inner.what->level < level || (inner.what->level == level && i > 0);
  if (level != RuleLevel::kPrimary && (weaker || mixed_logic)) text = "(" + text + ")";
  // Arms of ?:, min and max are of one type.
  const bool joins = node.what->token == "?" ? i > 0 : level == RuleLevel::kPrimary;
  return code_of != nullptr && joins && node.is_float && !inner.is_float ? "float(" + text + ")"
                                                                         : text;
}

/// C++ passes the tensor, its number of elements and the row-major offset to element().
std::string PairRule::print_element(const RuleNode& node, const Attention* code_of) const {
  std::string text = code_of == nullptr ? node.tensor : "";
  for (std::size_t i = 0; i < node.what->operands; ++i) {
    const std::string index = print(operand(node, i), code_of);
    if (code_of == nullptr) {
      text += fmt::format("[{}]", index);
    } else if (i == 0) {
      text = index;
    } else {
      text = fmt::format("({}) * Int({}) + ({})", text,
                         find_tensor(*code_of, node.tensor)->shape[i], index);
    }
  }
  if (code_of == nullptr) return text;
  const NamedTensor& tensor = *find_tensor(*code_of, node.tensor);
  return fmt::format("element(tensors, tensors.{}, {}, {})", argument_of(tensor), tensor.elements(),
                     text);
}

std::string PairRule::print(const RuleNode& node, const Attention* code_of) const {
  const RuleOperator& what = *node.what;
  const bool as_code = code_of != nullptr;
  if (what.token == kElement) return print_element(node, code_of);
  const auto side = [&](std::size_t i) { return operand_text(node, i, code_of); };
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
  if (node.what->token == kElement)
    return fmt::format("o[\"[\"](t[\"{}\"], {})", node.tensor, join(sides, ", "));
  return fmt::format("o[\"{}\"]({})", node.what->token, join(sides, ", "));
}

std::string PairRule::calls() const { return print_calls(nodes_.back()); }

std::string PairRule::text() const { return print(nodes_.back(), nullptr); }
std::string PairRule::as_conjunct() const {
  return nodes_.back().what->level < RuleLevel::kAnd ? "(" + text() + ")" : text();
}
std::string PairRule::code(const Attention& problem) const {
  return print(nodes_.back(), &problem);
}

bool PairRule::uses(std::string_view name) const {
  return std::ranges::any_of(nodes_,
                             [&](const RuleNode& node) { return node.what->token == name; });
}

bool PairRule::reads(std::string_view tensor) const {
  return std::ranges::count(nodes_, tensor, &RuleNode::tensor) > 0;
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

void PairRule::read_elements(const RuleNode& node, const Given& given,
                             std::span<const std::vector<double>> indices,
                             std::span<double> made) const {
  const NamedTensor& tensor = *find_tensor(given.problem, node.tensor);
  std::span<const float> floats;
  if (tensor.type == NamedTensor::Type::kF32) floats = given.floats(node.tensor);
  for (std::size_t i = 0; i < made.size(); ++i) {
    std::int64_t at = 0;
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis)
      at = at * tensor.shape[axis] + static_cast<std::int64_t>(indices[axis][i]);
    made[i] = floats.empty() ? tensor.at(at) : floats[static_cast<std::size_t>(at)];
  }
}

std::vector<double> PairRule::column(const RuleNode& node, const Given& given) const {
  const RuleOperator& what = *node.what;
  std::vector<double> made(given.scores.size(), node.number);
  if (what.token == "score") return {given.scores.begin(), given.scores.end()};
  if (what.token == "INFINITY") std::ranges::fill(made, std::numeric_limits<double>::infinity());
  if (what.size != nullptr) std::ranges::fill(made, static_cast<double>(given.problem.*what.size));
  if (const Indices* indices = indices_of(given.row, what.token)) {
    const bool steps = what.token == "k";
    for (std::size_t i = 0; i < made.size(); ++i)
      made[i] = static_cast<double>(indices->least + (steps ? static_cast<std::int64_t>(i) : 0));
  }
  if (what.operands == 0) return made;
  std::array<std::vector<double>, 3> sides;
  for (std::size_t i = 0; i < sides.size(); ++i)
    sides[i] = i < what.operands ? column(operand(node, i), given) : sides[0];
  if (what.token == kElement) {
    read_elements(node, given, sides, made);
    return made;
  }
  const bool truncates = what.token == "/" && !node.is_float;
  for (std::size_t i = 0; i < made.size(); ++i) {
    made[i] = what.number(sides[0][i], sides[1][i], sides[2][i]);
    if (truncates) made[i] = std::trunc(made[i]);
  }
  return made;
}

void PairRule::evaluate(const Attention& problem, const Pairs& row, std::span<double> values,
                        const FloatsOf& floats) const {
  const std::vector<double> made = column(nodes_.back(), {problem, row, values, floats});
  std::ranges::copy(made, values.begin());
}

}  // namespace fatune
