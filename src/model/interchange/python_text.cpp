// python_text.cpp - lines to blocks by their indentation, tokens to expressions.
#include "model/interchange/python_text.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "core/text.hpp"
#include "model/interchange/python_lines.hpp"

namespace fatune {
namespace {

constexpr std::size_t kPythonWords = 6;  ///< of a statement in errors

/// Reads the expressions of one line; no value where it has something else.
class PythonExpression {
 public:
  using Found = std::optional<PyExpression>;
  using Kind = PyExpression::Kind;

  explicit PythonExpression(std::vector<PyToken> tokens) : tokens_(std::move(tokens)) {}

  bool ended() const { return at_ >= tokens_.size(); }
  bool skip(std::string_view text) {
    if (!stands(text)) return false;
    ++at_;
    return true;
  }

  /// An expression, or several with commas between them, which are a tuple.
  Found tuple() {
    Found first = sum();
    if (!first || !stands(",")) return first;
    PyExpression list{.kind = Kind::kList, .parts = {*std::move(first)}};
    while (skip(",") && !ended() && !stands(")")) {
      Found next = sum();
      if (!next) return std::nullopt;
      list.parts.push_back(*std::move(next));
    }
    return list;
  }

 private:
  bool stands(std::string_view text) const {
    return !ended() && tokens_[at_].kind != PyToken::Kind::kText && tokens_[at_].text == text;
  }
  bool is_kind(PyToken::Kind kind) const { return !ended() && tokens_[at_].kind == kind; }

  static PyExpression whole(Kind kind, std::string_view text, Found first, Found second = {}) {
    PyExpression made{.kind = kind, .text = std::string(text)};
    made.parts.push_back(*std::move(first));
    if (second) made.parts.push_back(*std::move(second));
    return made;
  }

  template <std::size_t kCount>
  Found chain(const std::array<std::string_view, kCount>& operators,
              Found (PythonExpression::*operand)()) {
    Found left = (this->*operand)();
    while (left) {
      const auto found =
          std::ranges::find_if(operators, [this](std::string_view each) { return stands(each); });
      if (found == operators.end()) break;
      if (++steps_ > kMostSteps) return std::nullopt;
      ++at_;
      Found right = (this->*operand)();
      if (!right) return std::nullopt;
      left = whole(Kind::kOperation, *found, std::move(left), std::move(right));
    }
    return left;
  }

  Found sum() {
    constexpr std::array<std::string_view, 2> kOperators = {"+", "-"};
    if (++depth_ > kDeepestPython) return std::nullopt;
    Found found = chain(kOperators, &PythonExpression::term);
    --depth_;
    return found;
  }
  Found term() {
    constexpr std::array<std::string_view, 5> kOperators = {"*", "/", "//", "%", "@"};
    return chain(kOperators, &PythonExpression::unary);
  }
  Found unary() {
    if (skip("+")) return ++depth_ > kDeepestPython ? std::nullopt : unary();
    if (!skip("-")) return power();
    if (++depth_ > kDeepestPython) return std::nullopt;
    Found inner = unary();
    --depth_;
    if (!inner) return std::nullopt;
    return whole(Kind::kNegative, "-", std::move(inner));
  }
  Found power() {
    Found base = primary();
    if (!base || !skip("**")) return base;
    if (++depth_ > kDeepestPython) return std::nullopt;
    Found exponent = unary();
    --depth_;
    if (!exponent) return std::nullopt;
    return whole(Kind::kOperation, "**", std::move(base), std::move(exponent));
  }

  Found primary() {
    Found found = atom();
    while (found) {
      if (++steps_ > kMostSteps) return std::nullopt;
      if (skip(".")) {
        if (!is_kind(PyToken::Kind::kName)) return std::nullopt;
        found = whole(Kind::kMember, tokens_[at_++].text, std::move(found));
      } else if (skip("(")) {
        found = call(*std::move(found));
      } else if (skip("[")) {
        Found index = tuple();
        if (!index || !skip("]")) return std::nullopt;
        found = whole(Kind::kIndex, "", std::move(found), std::move(index));
      } else {
        break;
      }
    }
    return found;
  }

  Found call(PyExpression callee) {
    PyExpression made{.kind = Kind::kCall};
    made.parts.push_back(std::move(callee));
    while (!skip(")")) {
      const bool keyword = is_kind(PyToken::Kind::kName) && at_ + 1 < tokens_.size() &&
                           tokens_[at_ + 1].kind == PyToken::Kind::kMark &&
                           tokens_[at_ + 1].text == "=";
      const std::string name = keyword ? std::string(tokens_[at_].text) : "";
      if (keyword) at_ += 2;
      Found value = sum();
      if (!value || (!keyword && !made.keywords.empty())) return std::nullopt;
      if (keyword) {
        made.keywords.emplace_back(name, *std::move(value));
      } else {
        made.parts.push_back(*std::move(value));
      }
      if (!skip(",") && !stands(")")) return std::nullopt;
    }
    return made;
  }

  Found atom() {
    if (is_kind(PyToken::Kind::kNumber)) return number(tokens_[at_++].text);
    if (is_kind(PyToken::Kind::kText)) {
      PyExpression text{.kind = Kind::kText};
      while (is_kind(PyToken::Kind::kText)) text.text += tokens_[at_++].text;
      return text;
    }
    if (is_kind(PyToken::Kind::kName)) {
      return PyExpression{.kind = Kind::kName, .text = std::string(tokens_[at_++].text)};
    }
    if (skip("(")) return closed(")", true);
    if (skip("[")) return closed("]", false);
    if (skip("{")) return values();
    return std::nullopt;
  }

  /// Behind the opening brace of a dictionary.
  Found values() {
    PyExpression list{.kind = Kind::kList};
    while (!skip("}")) {
      const Found key = sum();
      if (!key || !skip(":")) return std::nullopt;
      Found value = sum();
      if (!value) return std::nullopt;
      list.parts.push_back(*std::move(value));
      if (!skip(",") && !stands("}")) return std::nullopt;
    }
    return list;
  }

  static Found number(std::string_view digits) {
    const std::string plain = replaced(std::string(digits), "_", "");
    PyExpression made{.kind = Kind::kWhole};
    if (const auto whole = parse_integer(plain)) {
      made.whole = *whole;
      return made;
    }
    const auto real = parse_number(plain);
    if (!real) return std::nullopt;
    made.kind = Kind::kReal;
    made.real = *real;
    return made;
  }

  /// Behind an opening bracket; one expression in parentheses is itself.
  Found closed(std::string_view closing, bool may_be_one) {
    PyExpression list{.kind = Kind::kList};
    bool comma = false;
    while (!skip(closing)) {
      Found next = sum();
      if (!next) return std::nullopt;
      list.parts.push_back(*std::move(next));
      const bool another = skip(",");
      comma = comma || another;
      if (!another && !stands(closing)) return std::nullopt;
    }
    if (may_be_one && !comma && list.parts.size() == 1) return std::move(list.parts.front());
    return list;
  }

  /// Operators, members, calls and indices of a line; each is a level of the expression. Chosen.
  static constexpr int kMostSteps = 256;

  std::vector<PyToken> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int steps_ = 0;
};

/// Lines to statements, blocks by indentation.
class PythonStatements {
 public:
  using Kind = PyStatement::Kind;

  PythonStatements(std::vector<PyLine> lines, const std::string& where)
      : lines_(std::move(lines)), where_(where) {}

  Result<std::vector<PyStatement>> block(std::size_t indent, int depth) {
    std::vector<PyStatement> statements;
    if (depth > kDeepestPython && at_ < lines_.size()) {
      return file_error(
          fmt::format("{}: line {}: blocks nest too deep", where_, lines_[at_].number));
    }
    while (at_ < lines_.size() && lines_[at_].indent >= indent) {
      PyStatement statement = read(lines_[at_++]);
      if (at_ < lines_.size() && lines_[at_].indent > indent) {
        FATUNE_TRY(std::vector<PyStatement> body, block(lines_[at_].indent, depth + 1));
        for (PyStatement& each : body) statement.body.push_back(std::move(each));
      }
      statements.push_back(std::move(statement));
    }
    return statements;
  }

 private:
  using Tokens = std::vector<PyToken>;

  static PyStatement other(const PyLine& line) {
    PyStatement made{.kind = Kind::kOther, .line = line.number};
    std::vector<std::string> words;
    for (std::size_t i = 0; i < std::min(line.tokens.size(), kPythonWords); ++i)
      words.emplace_back(line.tokens[i].text);
    made.text = join(words, " ").substr(0, 60);
    return made;
  }

  static bool is(const Tokens& tokens, std::size_t at, std::string_view text) {
    return at < tokens.size() && tokens[at].kind != PyToken::Kind::kText && tokens[at].text == text;
  }
  static bool is_name(const Tokens& tokens, std::size_t at) {
    return at < tokens.size() && tokens[at].kind == PyToken::Kind::kName;
  }

  static PyStatement read(const PyLine& line) {
    const Tokens& tokens = line.tokens;
    PyStatement made = other(line);
    if (is(tokens, 0, "import") || is(tokens, 0, "from")) return import(line);
    if (is(tokens, 0, "def") && is_name(tokens, 1)) return function(line);
    if (is(tokens, 0, "assert")) made.kind = Kind::kAssert;
    if (is(tokens, 0, "class") && is_name(tokens, 1)) {
      made.kind = Kind::kClass;
      made.text = std::string(tokens[1].text);
    } else if (is(tokens, 0, "with") && is(tokens, tokens.size() - 1, ":")) {
      evaluate(made, Tokens(tokens.begin() + 1, tokens.end() - 1), Kind::kWith);
    } else if (is(tokens, 0, "return")) {
      evaluate(made, Tokens(tokens.begin() + 1, tokens.end()), Kind::kReturn);
    } else if (const std::size_t names = assigned(tokens, made.names)) {
      evaluate(made, Tokens(tokens.begin() + static_cast<std::ptrdiff_t>(names), tokens.end()),
               Kind::kAssign);
    } else if (made.kind != Kind::kAssert) {
      evaluate(made, tokens, Kind::kExpression);
    }
    return made;
  }

  static void evaluate(PyStatement& made, Tokens tokens, Kind kind) {
    PythonExpression reader(std::move(tokens));
    auto value = reader.tuple();
    if (!value || !reader.ended()) return;
    made.kind = kind;
    made.value = *std::move(value);
  }

  /// Tokens of "a, b =" or "a: int ="; 0 when it is none.
  static std::size_t assigned(const Tokens& tokens, std::vector<std::string>& names) {
    std::vector<std::string> found;
    std::size_t at = 0;
    for (; is_name(tokens, at); ++at) {
      found.emplace_back(tokens[at++].text);
      if (!is(tokens, at, ",")) break;
    }
    if (found.size() == 1 && is(tokens, at, ":")) {
      while (at < tokens.size() && !is(tokens, at, "=")) ++at;
    }
    if (found.empty() || !is(tokens, at, "=")) return 0;
    names = std::move(found);
    return at + 1;
  }

  static std::string dotted(const Tokens& tokens, std::size_t& at) {
    std::string path;
    while (is_name(tokens, at)) {
      path += tokens[at++].text;
      if (!is(tokens, at, ".")) break;
      path += '.';
      ++at;
    }
    return path;
  }

  /// "import a.b as c, d" and "from a.b import c as d, (e)"; relative ones and stars are other.
  static PyStatement import(const PyLine& line) {
    const Tokens& tokens = line.tokens;
    PyStatement made = other(line);
    std::size_t at = 1;
    std::string base;
    if (is(tokens, 0, "from")) {
      base = dotted(tokens, at);
      if (base.empty() || !is(tokens, at++, "import")) return made;
      if (is(tokens, at, "(")) ++at;
      base += '.';
    }
    for (; at < tokens.size(); ++at) {
      if (is(tokens, at, ")") && at + 1 == tokens.size()) break;
      const std::string path = dotted(tokens, at);
      if (path.empty()) return made;
      const bool renamed = is(tokens, at, "as") && is_name(tokens, at + 1);
      made.names.push_back(renamed ? std::string(tokens[at + 1].text)
                                   : path.substr(0, path.find('.')));
      made.paths.push_back(renamed || !base.empty() ? base + path : made.names.back());
      if (renamed) at += 2;
      if (at < tokens.size() && !is(tokens, at, ",") && !is(tokens, at, ")")) return made;
      if (is(tokens, at, ")")) break;
    }
    if (!made.names.empty()) made.kind = Kind::kImport;
    return made;
  }

  /// The names of the parameters; annotations and defaults are skipped.
  static PyStatement function(const PyLine& line) {
    const Tokens& tokens = line.tokens;
    PyStatement made = other(line);
    std::size_t at = 3;
    bool expects_name = true;
    for (int depth = 1; at < tokens.size() && depth > 0; ++at) {
      if (is(tokens, at, "(") || is(tokens, at, "[") || is(tokens, at, "{")) ++depth;
      if (is(tokens, at, ")") || is(tokens, at, "]") || is(tokens, at, "}")) --depth;
      if (depth == 1 && expects_name && is_name(tokens, at))
        made.names.emplace_back(tokens[at].text);
      if (depth == 1) expects_name = is(tokens, at, ",");
    }
    while (at < tokens.size() && !is(tokens, at, ":")) ++at;
    const bool nested = is(tokens, at + 1, "def");  // a function within a line is not Python
    if (!is(tokens, 2, "(") || at >= tokens.size() || nested) return made;
    made.kind = Kind::kFunction;
    made.text = std::string(tokens[1].text);
    if (++at < tokens.size()) {
      made.body.push_back(
          read({line.number, line.indent,
                Tokens(tokens.begin() + static_cast<std::ptrdiff_t>(at), tokens.end())}));
    }
    return made;
  }

  std::vector<PyLine> lines_;
  const std::string& where_;
  std::size_t at_ = 0;
};

}  // namespace

Result<std::vector<PyStatement>> parse_python(std::string_view text, const std::string& where) {
  FATUNE_TRY(std::vector<PyLine> lines, python_lines(text, where));
  return PythonStatements(std::move(lines), where).block(0, 0);
}

Result<PyExpression> parse_python_expression(std::string_view text, const std::string& where) {
  FATUNE_TRY(const std::vector<PyLine> lines, python_lines(text, where));
  if (lines.size() == 1) {
    PythonExpression reader(lines.front().tokens);
    auto value = reader.tuple();
    if (value && reader.ended()) return *std::move(value);
  }
  return file_error(fmt::format("{}: '{}' is not understood", where, text.substr(0, 60)));
}

const PyStatement* find_block(const std::vector<PyStatement>& statements, PyStatement::Kind kind,
                              std::string_view name) {
  const auto found = std::ranges::find_if(
      statements, [&](const PyStatement& each) { return each.kind == kind && each.text == name; });
  return found == statements.end() ? nullptr : &*found;
}

}  // namespace fatune
