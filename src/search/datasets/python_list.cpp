// python_list.cpp: Reads the values that a Python expression lists.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "core/tokens.hpp"
#include "model/kernel/expression.hpp"
#include "search/datasets/formats.hpp"
#include "search/datasets/spaces.hpp"

namespace fatune {
namespace {

/// Values of all ranges and turns of all loops; chosen: four times what a parameter may have.
constexpr std::size_t kMostSteps = 262'140;
constexpr int kDeepestList = 32;              // chosen
constexpr std::size_t kLongestQuoted = 1000;  // bytes in errors; chosen

/// Walks the tokens of `[1, 2] + [2**i for i in range(5, 11) if i != 7]`.
class ListReader : TokenReader {
 public:
  ListReader(std::string_view text, const std::string& where)
      : TokenReader(text, Syntax::kPython), text_(text), where_(where) {}

  Result<std::vector<Value>> read() {
    FATUNE_TRY(std::vector<Value> values, lists());
    if (at_ < tokens_.size()) return wrong();
    return values;
  }

 private:
  Error error(const std::string& problem) const {
    return file_error(fmt::format("{}: '{}' {}", where_, head(text_, kLongestQuoted), problem));
  }
  Error wrong() const {
    const std::string found = at_ < tokens_.size() ? fmt::format("'{}'", next()) : "the end";
    return error("is not understood at " + found);
  }
  Status step() {
    if (++steps_ <= kMostSteps) return {};
    return error(fmt::format("takes more than {} steps", kMostSteps));
  }

  /// Parses lists that `+` joins.
  Result<std::vector<Value>> lists() {
    if (++depth_ > kDeepestList) return error(fmt::format("nests {} lists", depth_));
    FATUNE_TRY(std::vector<Value> values, list());
    while (skip("+")) {
      FATUNE_TRY(std::vector<Value> more, list());
      std::move(more.begin(), more.end(), std::back_inserter(values));
    }
    --depth_;
    return values;
  }

  Result<std::vector<Value>> list() {
    const bool in_order = skip("sorted");
    const bool call = in_order || skip("list") || skip("tuple");
    constexpr std::array kLists = {"[", "list", "tuple", "sorted", "range"};
    const bool of_list = std::ranges::find(kLists, next(1)) != kLists.end();
    if (next() == "(" && (of_list || (call && next(1) == "("))) {
      ++at_;
      FATUNE_TRY(std::vector<Value> values, lists());
      if (!skip(")") || (in_order && !std::ranges::all_of(values, is_numeric))) return wrong();
      if (in_order) std::ranges::stable_sort(values, {}, numeric);
      return values;
    }
    if (!call && skip("range")) return range();
    return items();
  }

  /// Parses `[a, *list]`, `(a, b)` or `[a for i in list if b]`.
  Result<std::vector<Value>> items() {
    const std::string_view closing = next() == "[" ? "]" : ")";
    if (!skip("[") && !skip("(")) return wrong();
    std::vector<Value> values;
    while (!skip(closing)) {
      if (skip("*")) {
        FATUNE_TRY(std::vector<Value> more, lists());
        std::move(more.begin(), more.end(), std::back_inserter(values));
        if (!skip(",") && next() != closing) return wrong();
        continue;
      }
      const std::size_t begin = at_;
      FATUNE_TRY_STATUS(pass());
      if (values.empty() && next() == "for") {
        FATUNE_TRY_STATUS(loop(begin, at_, values));
        if (!skip(closing)) return wrong();
        return values;
      }
      FATUNE_TRY(Value value, evaluate(begin, at_));
      values.push_back(std::move(value));
      FATUNE_TRY_STATUS(step());
      if (!skip(",") && next() != closing) return wrong();
    }
    return values;
  }

  /// Moves to the comma, bracket, `for` or `if` that ends an expression.
  Status pass() {
    const std::size_t begin = at_;
    for (int open = 0; at_ < tokens_.size(); ++at_) {
      const std::string_view token = next();
      if (open == 0 && (token == "," || token == "for" || token == "if")) break;
      if (token == "(" || token == "[") ++open;
      if ((token == ")" || token == "]") && open-- == 0) break;
    }
    return at_ > begin && at_ < tokens_.size() ? Status() : wrong();
  }

  /// Runs the clauses from `at_` on for the element before `end`, and stops behind the last clause.
  Status loop(std::size_t begin, std::size_t end, std::vector<Value>& values) {
    FATUNE_TRY_STATUS(step());
    if (skip("if")) {
      const std::size_t condition = at_;
      FATUNE_TRY_STATUS(pass());
      FATUNE_TRY(const Value holds, evaluate(condition, at_));
      if (numeric(holds) != 0.0) return loop(begin, end, values);
      return pass_clauses();
    }
    if (!skip("for")) {
      FATUNE_TRY(Value value, evaluate(begin, end));
      values.push_back(std::move(value));
      return {};
    }
    const std::string_view name = next();
    if (name.empty() || next(1) != "in") return wrong();
    at_ += 2;
    FATUNE_TRY(const std::vector<Value> all, lists());
    const std::size_t clauses = at_;
    for (const Value& value : all) {
      at_ = clauses;
      variables_[name] = value;
      scope_.set(name, numeric(value).value_or(std::nan("")));
      FATUNE_TRY_STATUS(loop(begin, end, values));
    }
    return all.empty() ? pass_clauses() : Status();
  }

  Status pass_clauses() {
    while (next() == "for" || next() == "if") {
      ++at_;
      FATUNE_TRY_STATUS(pass());
    }
    return {};
  }

  /// Evaluates the tokens from `begin` to `end`: a word, a value of a loop, or arithmetic.
  Result<Value> evaluate(std::size_t begin, std::size_t end) {
    const std::string_view first = tokens_[begin], last = tokens_[end - 1];
    const bool single = end - begin == 1;
    const bool quoted = first.front() == '\'' || first.front() == '"';
    if (single && quoted && first.size() > 1 && first.back() == first.front())
      return Value{Value::Kind::kWord, 0, std::string(first.substr(1, first.size() - 2))};
    if (const auto known = variables_.find(first); single && known != variables_.end())
      return known->second;
    const std::string text(first.data(), last.data() + last.size());
    // Arithmetic is done in double; a literal may be a larger whole number.
    const Value literal = value_from_python(text);
    if (literal.kind != Value::Kind::kWord) return literal;
    auto known = expressions_.find(begin);
    if (known == expressions_.end()) {
      FATUNE_TRY(Expression parsed, Expression::parse(text, where_, Syntax::kPython));
      known = expressions_.emplace(begin, std::move(parsed)).first;
    }
    FATUNE_TRY(const double value, known->second.evaluate(scope_));
    return value_from_json(Json(value));
  }

  /// Parses the rest of range(end), range(begin, end) or range(begin, end, step).
  Result<std::vector<Value>> range() {
    if (next() != "(") return wrong();
    FATUNE_TRY(const std::vector<Value> bounds, items());
    const bool whole = std::ranges::all_of(
        bounds, [](Value::Kind kind) { return kind == Value::Kind::kNumber; }, &Value::kind);
    if (bounds.empty() || bounds.size() > 3 || !whole) return wrong();
    const std::int64_t begin = bounds.size() > 1 ? bounds[0].number : 0;
    const std::int64_t end = bounds.size() > 1 ? bounds[1].number : bounds[0].number;
    const std::int64_t stride = bounds.size() > 2 ? bounds[2].number : 1;
    if (stride == 0) return error("has a range with a step of 0");
    if (stride > 0 ? end <= begin : end >= begin) return std::vector<Value>();
    // Unsigned, because the widest range exceeds int64_t.
    const auto low = static_cast<std::uint64_t>(std::min(begin, end));
    const std::uint64_t span = static_cast<std::uint64_t>(std::max(begin, end)) - low;
    const auto size = static_cast<std::uint64_t>(stride);
    const std::uint64_t more = (span - 1) / (stride > 0 ? size : 0 - size);
    std::vector<Value> values;
    for (std::uint64_t i = 0; i <= more; ++i) {
      FATUNE_TRY_STATUS(step());
      const auto number = static_cast<std::int64_t>(static_cast<std::uint64_t>(begin) + i * size);
      values.push_back({Value::Kind::kNumber, number, {}});
    }
    return values;
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t steps_ = 0;
  int depth_ = 0;
  std::map<std::string_view, Value> variables_;    ///< of the loops
  Scope scope_;                                    ///< numbers among the variables
  std::map<std::size_t, Expression> expressions_;  ///< by their first token
};

}  // namespace

Result<std::vector<Value>> list_from_python(std::string_view text, const std::string& where) {
  return ListReader(text, where).read();
}

}  // namespace fatune
