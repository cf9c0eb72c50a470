// python_expression.cpp - a small part of Python's grammar, read from the top down.
#include "search/datasets/python_expression.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/text.hpp"
#include "search/datasets/assemble.hpp"

namespace fatune {
namespace {

constexpr std::uint64_t kLongestRange = 65'535;  // values
constexpr int kDeepest = 200;                    // of nested parentheses; chosen

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Names and numbers whole, operators of two characters as one; text in quotes with them.
std::vector<std::string> tokens_of(std::string_view text) {
  static constexpr std::array<std::string_view, 6> kPairs = {"==", "!=", "<=", ">=", "//", "**"};
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    const bool number = is_digit(text[i]) || (text[i] == '.' && end < text.size());
    if (is_word_character(text[i]) || number) {
      while (end < text.size() && (is_word_character(text[end]) || text[end] == '.')) ++end;
    } else if (text[i] == '\'' || text[i] == '"') {
      end = std::min(text.find(text[i], end), text.size() - 1) + 1;
    } else if (std::find(kPairs.begin(), kPairs.end(), text.substr(i, 2)) != kPairs.end()) {
      end = i + 2;
    }
    if (std::string_view(" \t\r\n").find(text[i]) == std::string_view::npos)
      tokens.emplace_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& where)
      : text_(text), where_(where), tokens_(tokens_of(text)) {}

  Result<std::string> condition() {
    FATUNE_TRY(std::string whole, any_of());
    if (at_ < tokens_.size()) return wrong();
    return whole;
  }

  Result<std::vector<Value>> list() {
    const bool wrapped = tokens_.size() > 1 && tokens_[0] == "list" && tokens_[1] == "(";
    if (wrapped) at_ = 2;
    const bool range = next() == "range";
    FATUNE_TRY(std::vector<Value> values, range ? numbers_of_range() : items("[", "]"));
    if (wrapped && !skip(")")) return wrong();
    if (at_ < tokens_.size()) return wrong();
    return values;
  }

 private:
  std::string_view next() const {
    return at_ < tokens_.size() ? std::string_view(tokens_[at_]) : std::string_view();
  }
  bool skip(std::string_view token) {
    if (next() != token) return false;
    ++at_;
    return true;
  }
  Error wrong() const {
    const std::string found = at_ < tokens_.size() ? "'" + tokens_[at_] + "'" : "the end";
    return file_error(fmt::format("{}: '{}' is not understood at {}", where_, text_, found));
  }

  Result<std::string> any_of() {
    FATUNE_TRY(std::string left, all_of());
    while (skip("or")) {
      FATUNE_TRY(const std::string right, all_of());
      left = fmt::format("({} || {})", left, right);
    }
    return left;
  }

  Result<std::string> all_of() {
    FATUNE_TRY(std::string left, negated());
    while (skip("and")) {
      FATUNE_TRY(const std::string right, negated());
      left = fmt::format("({} && {})", left, right);
    }
    return left;
  }

  Result<std::string> negated() {
    if (!skip("not")) return comparison();
    if (++depth_ > kDeepest) return wrong();
    FATUNE_TRY(const std::string inner, negated());
    --depth_;
    return fmt::format("!({})", inner);
  }

  /// a < b < c is a < b and b < c.
  Result<std::string> comparison() {
    static constexpr std::array<std::string_view, 6> kOperators = {"<",  "<=", ">",
                                                                   ">=", "==", "!="};
    FATUNE_TRY(std::string left, sum());
    std::string chain;
    while (std::find(kOperators.begin(), kOperators.end(), next()) != kOperators.end()) {
      const std::string sign = tokens_[at_++];
      FATUNE_TRY(std::string right, sum());
      const std::string link = fmt::format("({} {} {})", left, sign, right);
      chain = chain.empty() ? link : fmt::format("({} && {})", chain, link);
      left = std::move(right);
    }
    return chain.empty() ? left : chain;
  }

  Result<std::string> sum() {
    FATUNE_TRY(std::string left, product());
    while (next() == "+" || next() == "-") {
      const std::string sign = tokens_[at_++];
      FATUNE_TRY(const std::string right, product());
      left = fmt::format("({} {} {})", left, sign, right);
    }
    return left;
  }

  /// Python's % has the sign of the divisor, ours that of the dividend.
  Result<std::string> product() {
    FATUNE_TRY(std::string left, signed_atom());
    while (next() == "*" || next() == "/" || next() == "//" || next() == "%") {
      const std::string sign = tokens_[at_++];
      FATUNE_TRY(const std::string right, signed_atom());
      if (sign == "//") {
        left = fmt::format("floor_div({}, {})", left, right);
      } else if (sign == "%") {
        left = fmt::format("((({0} % {1}) + {1}) % {1})", left, right);
      } else {
        left = fmt::format("({} {} {})", left, sign, right);
      }
    }
    return left;
  }

  Result<std::string> signed_atom() {
    if (!skip("-")) return atom();
    FATUNE_TRY(const std::string inner, atom());
    return "(-" + inner + ")";
  }

  Result<std::string> atom() {
    const std::string token(next());
    if (token.empty()) return wrong();
    if (token == "(") return group();
    if (token == "True" || token == "False") {
      ++at_;
      return std::string(token == "True" ? "1" : "0");
    }
    if (parse_number(token)) {
      ++at_;
      return token;
    }
    if (!is_word_character(token.front()) || is_digit(token.front())) return wrong();
    if (token == "and" || token == "or" || token == "in" || token == "if") return wrong();
    if (token.find('.') != std::string::npos) return wrong();
    ++at_;
    return next() == "(" ? call(token) : token;
  }

  Result<std::string> group() {
    ++at_;
    if (++depth_ > kDeepest) return wrong();
    FATUNE_TRY(std::string inner, any_of());
    --depth_;
    if (!skip(")")) return wrong();
    return "(" + inner + ")";
  }

  Result<std::string> call(const std::string& function) {
    if (function != "min" && function != "max") {
      --at_;
      return wrong();
    }
    ++at_;
    if (++depth_ > kDeepest) return wrong();
    std::vector<std::string> arguments;
    do {
      FATUNE_TRY(std::string argument, any_of());
      arguments.push_back(std::move(argument));
    } while (skip(","));
    --depth_;
    if (!skip(")")) return wrong();
    return fmt::format("{}({})", function, join(arguments, ", "));
  }

  Result<std::vector<Value>> items(std::string_view opening, std::string_view closing) {
    std::vector<Value> values;
    if (!skip(opening)) return wrong();
    while (!skip(closing)) {
      FATUNE_TRY(Value value, item());
      values.push_back(std::move(value));
      if (!skip(",") && next() != closing) return wrong();
    }
    return values;
  }

  Result<Value> item() {
    const bool negative = skip("-");
    const std::string token(next());
    if (token.empty()) return wrong();
    const bool quoted = token.size() > 1 && (token.front() == '\'' || token.front() == '"') &&
                        token.back() == token.front();
    if (quoted && !negative) {
      ++at_;
      return Value{Value::Kind::kWord, 0, token.substr(1, token.size() - 2)};
    }
    const bool boolean = token == "True" || token == "False";
    if (!(parse_number(token) || (boolean && !negative))) return wrong();
    ++at_;
    return value_from_python(negative ? "-" + token : token);
  }

  /// range(end), range(begin, end) or range(begin, end, step)
  Result<std::vector<Value>> numbers_of_range() {
    ++at_;
    FATUNE_TRY(const std::vector<Value> bounds, items("(", ")"));
    const bool whole = std::all_of(bounds.begin(), bounds.end(), [](const Value& bound) {
      return bound.kind == Value::Kind::kNumber;
    });
    if (bounds.empty() || bounds.size() > 3 || !whole) return wrong();
    const std::int64_t begin = bounds.size() > 1 ? bounds[0].number : 0;
    const std::int64_t end = bounds.size() > 1 ? bounds[1].number : bounds[0].number;
    const std::int64_t step = bounds.size() > 2 ? bounds[2].number : 1;
    if (step <= 0) return wrong();
    if (end <= begin) return std::vector<Value>();
    // Unsigned: the widest range spans more than an int64_t.
    const std::uint64_t span = static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
    const std::uint64_t steps = (span - 1) / static_cast<std::uint64_t>(step);
    if (steps >= kLongestRange) return wrong();
    std::vector<Value> values;
    for (std::uint64_t i = 0; i <= steps; ++i)
      values.push_back({Value::Kind::kNumber, begin + static_cast<std::int64_t>(i) * step, {}});
    return values;
  }

  std::string_view text_;
  const std::string& where_;
  std::vector<std::string> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<std::string> expression_from_python(std::string_view text, const std::string& where) {
  return Reader(text, where).condition();
}

Result<std::vector<Value>> list_from_python(std::string_view text, const std::string& where) {
  return Reader(text, where).list();
}

}  // namespace fatune
