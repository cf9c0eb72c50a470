// rule_forms.cpp: Finds in expressions the masks and changes of scores that have names.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/text.hpp"
#include "model/problem/rule.hpp"
#include "model/problem/rule_operators.hpp"

namespace fatune {

/// Returns a node and what it is made of as a rule of its own.
PairRule PairRule::part(std::size_t node) const {
  PairRule made;
  RuleNode copy = nodes_[node];
  for (std::size_t i = 0; i < copy.what->operands; ++i) {
    const PairRule inner = part(copy.operands[i]);
    const std::size_t first = made.nodes_.size();
    for (RuleNode each : inner.nodes_) {
      for (std::size_t& operand : each.operands) operand += first;
      made.nodes_.push_back(each);
    }
    copy.operands[i] = made.nodes_.size() - 1;
  }
  made.nodes_.push_back(copy);
  return made;
}

std::vector<PairRule> PairRule::conjuncts() const {
  const RuleNode& root = nodes_.back();
  if (root.what->token != "&&") return {*this};
  std::vector<PairRule> all = part(root.operands[0]).conjuncts();
  std::ranges::move(part(root.operands[1]).conjuncts(), std::back_inserter(all));
  return all;
}

std::string joined(const std::vector<PairRule>& rules) {
  std::vector<std::string> texts;
  for (const PairRule& rule : rules)
    texts.push_back(rules.size() > 1 ? rule.as_conjunct() : rule.text());
  return join(texts, " && ");
}

std::optional<PairRule::Sum> PairRule::sum_of(const RuleNode& node) const {
  const RuleOperator& what = *node.what;
  if (&what == &number_row()) return Sum{0, 0, node.number};
  if (what.token == "q") return Sum{1, 0, 0};
  if (what.token == "k") return Sum{0, 1, 0};
  if (what.token != "+" && what.token != "-") return std::nullopt;
  const std::optional<Sum> first = sum_of(operand(node, 0));
  if (!first) return std::nullopt;
  if (what.operands == 1) return Sum{-first->query, -first->key, -first->number};
  const std::optional<Sum> second = sum_of(operand(node, 1));
  if (!second) return std::nullopt;
  const double sign = what.token == "-" ? -1 : 1;
  return Sum{first->query + sign * second->query, first->key + sign * second->key,
             first->number + sign * second->number};
}

/// Reads "sum <= most" for whole numbers.
std::optional<Band> PairRule::band_below(const Sum& sum, double most) {
  const auto bound = static_cast<std::int64_t>(most - sum.number);
  if (sum.query == -1 && sum.key == 1) return Band{.most = bound};
  if (sum.query == 1 && sum.key == -1) return Band{.least = -bound};
  if (sum.query == 0 && sum.key == 1 && bound >= 0) return Band{.prefix = bound + 1};
  return std::nullopt;
}

/// Reads "|sum| <= most".
std::optional<Band> PairRule::band_around(const RuleNode& magnitude, const Sum& most) const {
  const std::optional<Sum> sum = sum_of(operand(magnitude, 0));
  if (!sum || most.query != 0 || most.key != 0) return std::nullopt;
  std::optional<Band> band = band_below(*sum, most.number);
  const std::optional<Band> other = band_below({-sum->query, -sum->key, -sum->number}, most.number);
  if (!band || !other || band->prefix > 0 || other->prefix > 0) return std::nullopt;
  if (!band->least) band->least = other->least;
  if (!band->most) band->most = other->most;
  return band;
}

/// Reads one comparison: its lesser side, then its greater one.
std::optional<Band> PairRule::band_of_comparison(const RuleNode& node) const {
  const std::string_view token = node.what->token;
  if (node.what->level != RuleLevel::kOrder) return std::nullopt;
  const std::size_t lesser = token.front() == '<' ? 0 : 1;
  const double gap = token.size() == 1 ? 1 : 0;
  std::optional<Sum> most = sum_of(operand(node, 1 - lesser));
  if (!most) return std::nullopt;
  most->number -= gap;
  const RuleNode& low = operand(node, lesser);
  if (low.what->token == "abs") return band_around(low, *most);
  const std::optional<Sum> least = sum_of(low);
  if (!least) return std::nullopt;
  return band_below(
      {least->query - most->query, least->key - most->key, least->number - most->number}, 0);
}

std::optional<Band> PairRule::band() const {
  const RuleNode& root = nodes_.back();
  if (root.what->token != "||") {
    const std::optional<Band> band = band_of_comparison(root);
    return band && band->prefix == 0 ? band : std::nullopt;
  }
  std::optional<Band> band = band_of_comparison(operand(root, 0));
  std::optional<Band> prefix = band_of_comparison(operand(root, 1));
  if (band && band->prefix > 0) std::swap(band, prefix);
  if (!band || !prefix || !band->most || band->least || prefix->prefix == 0) return std::nullopt;
  band->prefix = prefix->prefix;
  return band;
}

/// Returns X of score / X.
std::optional<double> PairRule::quotient_of_score(const RuleNode& node) const {
  if (node.what->token != "/" || operand(node, 0).what->token != "score") return std::nullopt;
  const RuleNode& divisor = operand(node, 1);
  return divisor.what == &number_row() ? std::optional(divisor.number) : std::nullopt;
}

std::optional<double> PairRule::softcap() const {
  const RuleNode& root = nodes_.back();
  if (root.what->token != "*") return std::nullopt;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const RuleNode& cap = operand(root, i);
    const RuleNode& curve = operand(root, 1 - i);
    if (cap.what != &number_row() || curve.what->token != "tanh") continue;
    if (quotient_of_score(operand(curve, 0)) == cap.number) return cap.number;
  }
  return std::nullopt;
}

}  // namespace fatune
