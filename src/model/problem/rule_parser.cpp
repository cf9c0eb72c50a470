// rule_parser.cpp: Parses expressions over a query-key pair, by precedence.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "core/tokens.hpp"
#include "model/problem/rule.hpp"
#include "model/problem/rule_operators.hpp"

namespace fatune {
namespace {

using Type = RuleOperator::Type;

constexpr std::size_t kLongest = 1024;  // chosen: a mask of a model has some 100 characters
constexpr int kDeepest = 64;            // of nesting; chosen

/// Names of FlexAttention and FlashInfer for b, h, q, k and score.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kSynonyms = {
    {{"batch", "b"},
     {"batch_idx", "b"},
     {"head", "h"},
     {"head_idx", "h"},
     {"qo_head_idx", "h"},
     {"q_idx", "q"},
     {"qo_idx", "q"},
     {"k_idx", "k"},
     {"kv_idx", "k"},
     {"logits", "score"},
     {"inf", "INFINITY"}}};
constexpr std::string_view kKvHead = "kv_head_idx", kOfKvHead = "h / (HEADS / KV_HEADS)";

bool is_name(std::string_view token) { return !token.empty() && starts_name(token.front()); }

}  // namespace

/// Appends the nodes of one expression, operands first. Functions return a node's index.
class RuleParser : TokenReader {
 public:
  RuleParser(std::string_view text, RuleKind kind, std::span<const NamedTensor> tensors,
             std::vector<RuleNode>& nodes)
      : TokenReader(text, Syntax::kPython), kind_(kind), tensors_(tensors), nodes_(nodes) {}

  Status parse() {
    FATUNE_TRY(const std::size_t root, choice());
    if (!next().empty()) return wrong();
    FATUNE_CHECK(root + 1 == nodes_.size(), "the last node is the rule");
    return {};
  }

 private:
  using Index = Result<std::size_t>;

  Error wrong() const {
    if (next().empty()) return usage_error("ends too early");
    if (next() == "=") return usage_error("'=' assigns, which no expression may; '==' compares");
    return usage_error(fmt::format("'{}' is not understood{}", next(),
                                   at_ == 0 ? "" : fmt::format(" behind '{}'", tokens_[at_ - 1])));
  }

  Index add(const RuleOperator& what, std::array<std::size_t, 3> operands, double number = 0) {
    bool floats = what.type == Type::kFloat;
    for (std::size_t i = 0; i < what.operands; ++i) {
      const bool is_float = nodes_[operands[i]].is_float;
      if (is_float && what.type == Type::kWhole)
        return usage_error(fmt::format("'{}' is of whole numbers", what.token));
      const bool is_condition = what.token == "?" && i == 0;
      floats = floats || (is_float && what.type == Type::kSame && !is_condition);
    }
    if (floats && kind_ == RuleKind::kMask)
      return usage_error(fmt::format("'{}': a mask is of whole numbers", what.token));
    nodes_.push_back({&what, operands, number, floats});
    return nodes_.size() - 1;
  }

  Index choice() {
    if (++depth_ > kDeepest)
      return usage_error(fmt::format("nests more than {} levels deep", kDeepest));
    FATUNE_TRY(const std::size_t condition, operands(RuleLevel::kOr));
    --depth_;
    if (!skip("?")) return condition;
    FATUNE_TRY(const std::size_t yes, choice());
    if (!skip(":")) return wrong();
    FATUNE_TRY(const std::size_t no, choice());
    return add(choice_row(), {condition, yes, no});
  }

  /// Parses operands joined by operators of at least this level.
  Index operands(RuleLevel level) {
    FATUNE_TRY(std::size_t left, unary());
    for (bool compared = false;;) {
      const RuleOperator* what = find_operator(next(), 2);
      if (what == nullptr || what->level < level || what->level == RuleLevel::kPrimary) return left;
      if (compared && compares(what->level))
        return usage_error(
            fmt::format("'{}' follows another comparison: join them by &&, as in 0 <= k && k <= 5",
                        what->token));
      compared = compares(what->level);
      ++at_;
      const auto above = static_cast<RuleLevel>(static_cast<int>(what->level) + 1);
      FATUNE_TRY(const std::size_t right, operands(above));
      FATUNE_TRY(left, add(*what, {left, right}));
    }
  }

  Index unary() {
    if (skip("+")) return unary();
    const RuleOperator* what = find_operator(next(), 1);
    if (what == nullptr || what->level != RuleLevel::kUnary) return primary();
    ++at_;
    if (++depth_ > kDeepest)
      return usage_error(fmt::format("nests more than {} levels deep", kDeepest));
    FATUNE_TRY(const std::size_t operand, unary());
    --depth_;
    return add(*what, {operand});
  }

  Index primary() {
    if (skip("(")) {
      FATUNE_TRY(const std::size_t inside, choice());
      return skip(")") ? Index(inside) : wrong();
    }
    if (is_name(next())) return next(1) == "(" ? call() : name();
    return number();
  }

  Index number() {
    std::string_view digits = next();
    const bool is_float = digits.find_first_of(".eEf") != std::string_view::npos;
    if (is_float && digits.ends_with('f')) digits.remove_suffix(1);
    const auto value = parse_number(digits);
    if (!value) return wrong();
    if (is_float && kind_ == RuleKind::kMask)
      return usage_error(fmt::format("'{}': a mask is of whole numbers", next()));
    ++at_;
    nodes_.push_back({&number_row(), {}, *value, is_float});
    return nodes_.size() - 1;
  }

  Index name() {
    const std::string_view token = next();
    if (next(1) == "[") return element();
    if (token == kKvHead) {
      ++at_;
      return RuleParser(kOfKvHead, kind_, tensors_, nodes_).choice();
    }
    const auto synonym =
        std::ranges::find(kSynonyms, token, &decltype(kSynonyms)::value_type::first);
    const RuleOperator* what =
        find_operator(synonym == kSynonyms.end() ? token : synonym->second, 0);
    if (what == nullptr || what == &number_row() || !allowed(*what)) return unknown(token, false);
    ++at_;
    return add(*what, {});
  }

  /// Parses "table[h][q - k]".
  Index element() {
    const std::string_view token = next();
    std::array<std::size_t, 3> indices = {};
    std::size_t count = 0;
    for (++at_; skip("["); ++count) {
      if (count == indices.size())
        return usage_error(fmt::format("'{}' has more than {} indices", token, indices.size()));
      FATUNE_TRY(indices[count], choice());
      if (!skip("]")) return wrong();
      if (nodes_[indices[count]].is_float)
        return usage_error(fmt::format("an index of '{}' is no whole number", token));
    }
    FATUNE_TRY(const std::size_t made, add(*find_operator(kElement, count), indices));
    const auto declared = std::ranges::find(tensors_, token, &NamedTensor::name);
    nodes_[made].tensor = token;
    nodes_[made].is_float = declared != tensors_.end() && declared->type == NamedTensor::Type::kF32;
    if (nodes_[made].is_float && kind_ == RuleKind::kMask)
      return usage_error(fmt::format("'{}' is f32, but masks read i32 only", token));
    return made;
  }

  Index call() {
    const std::string_view token = next();
    at_ += 2;
    std::array<std::size_t, 3> operands = {};
    std::size_t count = 0;
    do {
      FATUNE_TRY(const std::size_t operand, choice());
      if (count < operands.size()) operands[count] = operand;
      ++count;
    } while (skip(","));
    if (!skip(")")) return wrong();
    const RuleOperator* what = find_operator(token, count);
    if (what != nullptr && what->level == RuleLevel::kPrimary && allowed(*what))
      return add(*what, operands);
    for (const std::size_t other : {std::size_t{1}, std::size_t{2}}) {
      const RuleOperator* same = find_operator(token, other);
      if (same == nullptr || !allowed(*same)) continue;
      return usage_error(
          fmt::format("{} has {} argument{}, not {}", token, other, other == 1 ? "" : "s", count));
    }
    return unknown(token, true);
  }

  bool allowed(const RuleOperator& what) const {
    return kind_ == RuleKind::kScore || what.type != Type::kFloat;
  }
  Error unknown(std::string_view token, bool function) const {
    std::vector<std::string> known;
    for (const RuleOperator& row : rule_operators()) {
      if (is_name(row.token) && (row.operands > 0) == function && allowed(row))
        known.emplace_back(row.token);
    }
    return usage_error(fmt::format("unknown {} '{}' (known: {})", function ? "function" : "name",
                                   token, join(known, ", ")));
  }

  RuleKind kind_;
  std::span<const NamedTensor> tensors_;
  std::vector<RuleNode>& nodes_;
  int depth_ = 0;
};

bool is_rule_name(std::string_view name) {
  const auto has = [&](const auto& row) { return row.token == name; };
  return std::ranges::any_of(rule_operators(), has) || name == kKvHead ||
         std::ranges::count(kSynonyms, name, &decltype(kSynonyms)::value_type::first) > 0;
}

Result<PairRule> PairRule::parse(std::string_view text, RuleKind kind,
                                 std::span<const NamedTensor> tensors) {
  const std::string_view what = kind == RuleKind::kMask ? "mask" : "score";
  if (text.size() > kLongest)
    return usage_error(fmt::format("{} is longer than {} characters", what, kLongest));
  PairRule rule;
  if (const Status parsed = RuleParser(text, kind, tensors, rule.nodes_).parse(); !parsed)
    return usage_error(fmt::format("{} '{}': {}", what, trim(text), parsed.error().message));
  return rule;
}

PairRule PairRule::of(std::string_view text, RuleKind kind, std::span<const NamedTensor> tensors) {
  Result<PairRule> rule = parse(text, kind, tensors);
  FATUNE_CHECK(static_cast<bool>(rule), "problems have expressions that parse");
  return *std::move(rule);
}

}  // namespace fatune
