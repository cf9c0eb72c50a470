// rule.hpp: Defines expressions over a query-key pair: which keys a query sees, or what a score
// becomes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "model/problem/named_tensor.hpp"

namespace fatune {

struct Attention;
struct RuleOperator;

/// kMask: a whole-number expression, not 0 where the query sees the key. kScore: a float
/// expression, the new score after scale, softcap, bias and ALiBi.
enum class RuleKind { kMask, kScore };

/// From `least` to `most`, both included.
struct Indices {
  std::int64_t least = 0, most = 0;
};
/// Pairs of query rows and keys, of heads of batch entries; all are counted from 0.
struct Pairs {
  Indices batch, head, query, key;
};

/// Bounds on key - query, both included. Keys below `prefix` are exempt from `most`.
struct Band {
  std::optional<std::int64_t> least = std::nullopt, most = std::nullopt;
  std::int64_t prefix = 0;
};

/// A part of an expression. Operands are indices in a list of nodes, below the node's own.
struct RuleNode {
  const RuleOperator* what = nullptr;
  std::array<std::size_t, 3> operands = {};
  double number = 0;
  bool is_float = false;
  std::string tensor = {};  ///< of an element: its tensor; operands are indices
};
/// Returns the elements of a named tensor of fp32.
using FloatsOf = std::function<std::span<const float>(std::string_view)>;
/// Tells whether expressions reserve the name, so that no tensor may have it.
bool is_rule_name(std::string_view name);

/// An expression in C's syntax; operators have C's meaning and precedence. docs/attention.md lists
/// names, operators and functions. Integers have 32 bits.
class PairRule {
 public:
  /// The error says what is wrong, and what would be right. An element of a tensor that is not
  /// among `tensors` counts as a whole number: fault() looks for it in the problem.
  static Result<PairRule> parse(std::string_view text, RuleKind kind,
                                std::span<const NamedTensor> tensors = {});
  /// Returns the rule of a text that parse() has accepted, as those of problems.
  static PairRule of(std::string_view text, RuleKind kind,
                     std::span<const NamedTensor> tensors = {});

  std::string text() const;         ///< one spelling, with the names b, h, q, k and score
  std::string as_conjunct() const;  ///< text(), in parentheses where && needs them
  /// Returns C++ for templates; the problem gives the tensors' shapes (common/expression.cuh).
  std::string code(const Attention& problem) const;
  /// Returns calls of functions by their tokens, for Python: o["<"](q, o["+"](k, 3)).
  std::string calls() const;
  bool uses(std::string_view name) const;
  bool reads(std::string_view tensor) const;
  /// Returns an error's text for the problem's sizes; empty if there is none.
  std::string fault(const Attention& problem) const;

  /// Evaluates neighbouring keys of one row, as many as `values` has. `values` holds scores
  /// on entry and results on return.
  void evaluate(const Attention& problem, const Pairs& row, std::span<double> values,
                const FloatsOf& floats = {}) const;
  /// Returns true if a mask surely shows every pair, false if surely none, and empty otherwise.
  std::optional<bool> shows(const Attention& problem, const Pairs& pairs) const;

  std::vector<PairRule> conjuncts() const;  ///< the operands of an outermost &&, or the rule itself
  std::optional<Band> band() const;         ///< of a comparison of q, k and numbers
  std::optional<double> softcap() const;    ///< X of X * tanh(score / X)

 private:
  friend class RuleParser;
  /// query * q + key * k + number
  struct Sum {
    double query = 0, key = 0, number = 0;
  };
  const RuleNode& operand(const RuleNode& node, std::size_t i) const {
    return nodes_[node.operands[i]];
  }
  /// The inputs of an evaluation: neighbouring keys of one row, and their scores.
  struct Given {
    const Attention& problem;
    const Pairs& row;
    std::span<const double> scores;
    const FloatsOf& floats;
  };
  /// Prints C++ for the problem `code_of`, or the expression's text if that is null.
  std::string print(const RuleNode& node, const Attention* code_of) const;
  std::string print_element(const RuleNode& node, const Attention* code_of) const;
  std::string print_calls(const RuleNode& node) const;
  std::string operand_text(const RuleNode& node, std::size_t i, const Attention* code_of) const;
  std::vector<double> column(const RuleNode& node, const Given& given) const;
  void read_elements(const RuleNode& node, const Given& given,
                     std::span<const std::vector<double>> indices, std::span<double> made) const;
  std::optional<Sum> sum_of(const RuleNode& node) const;
  static std::optional<Band> band_below(const Sum& sum, double most);
  std::optional<Band> band_around(const RuleNode& magnitude, const Sum& most) const;
  std::optional<Band> band_of_comparison(const RuleNode& node) const;
  std::optional<double> quotient_of_score(const RuleNode& node) const;
  PairRule part(std::size_t node) const;

  std::vector<RuleNode> nodes_;  ///< the last is the rule
};

/// Joins rules by &&.
std::string joined(const std::vector<PairRule>& rules);

}  // namespace fatune
