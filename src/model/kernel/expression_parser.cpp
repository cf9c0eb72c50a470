// expression_parser.cpp: Parses either syntax by recursive descent into an expression's steps.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "core/text.hpp"
#include "core/tokens.hpp"
#include "model/kernel/expression.hpp"

namespace fatune {
namespace {

constexpr double kNotDefined = std::numeric_limits<double>::quiet_NaN();
constexpr int kDeepest = 200;  // of nesting; chosen

// An undefined operand makes the result undefined; && and || may ignore an operand.
double defined(double a, double b, double result) {
  return std::isunordered(a, b) ? kNotDefined : result;
}
bool is_true(double a) { return a < 0 || a > 0; }
double either(double a, double b) { return is_true(a) || is_true(b) ? 1 : defined(a, b, 0); }
double both(double a, double b) { return a == 0 || b == 0 ? 0 : defined(a, b, 1); }
double equal(double a, double b) { return defined(a, b, a == b); }
double inverted(double a, double) { return defined(a, a, a == 0); }
double quotient(double a, double b) { return b == 0 ? kNotDefined : a / b; }
double floor_div(double a, double b) { return std::floor(quotient(a, b)); }
double remainder_of(double a, double b) { return b == 0 ? kNotDefined : std::fmod(a, b); }
double modulo(double a, double b) {
  const double rest = remainder_of(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

double shifted(double a, double b) { return defined(a, b, a * std::exp2(b)); }

using Function = double (*)(double, double);
enum Level { kOr, kAnd, kNot, kComparison, kShift, kSum, kProduct, kUnary, kPower };

/// An operator with its spelling in each syntax; empty if the syntax lacks it.
struct Operator {
  std::string_view manifest, python;
  Level level;
  Function function;  ///< none: membership
};
constexpr Operator kOperators[] = {
    {"||", "", kOr, either},
    {"or", "or", kOr, either},
    {"&&", "", kAnd, both},
    {"and", "and", kAnd, both},
    {"<", "<", kComparison, [](double a, double b) { return defined(a, b, a < b); }},
    {"<=", "<=", kComparison, [](double a, double b) { return defined(a, b, a <= b); }},
    {">", ">", kComparison, [](double a, double b) { return defined(a, b, a > b); }},
    {">=", ">=", kComparison, [](double a, double b) { return defined(a, b, a >= b); }},
    {"==", "==", kComparison, equal},
    {"!=", "!=", kComparison, [](double a, double b) { return defined(a, b, a != b); }},
    {"in", "in", kComparison, nullptr},
    {"not", "not", kComparison, nullptr},  // not in
    {"<<", "<<", kShift, [](double a, double b) { return shifted(a, b); }},
    {">>", ">>", kShift, [](double a, double b) { return std::floor(shifted(a, -b)); }},
    {"+", "+", kSum, [](double a, double b) { return a + b; }},
    {"-", "-", kSum, [](double a, double b) { return a - b; }},
    {"*", "*", kProduct, [](double a, double b) { return a * b; }},
    {"/", "/", kProduct, quotient},
    {"//", "//", kProduct, floor_div},
    {"%", "", kProduct, remainder_of},
    {"", "%", kProduct, modulo},
    {"**", "**", kPower, [](double a, double b) { return defined(a, b, std::pow(a, b)); }},
};
constexpr Operator kPrefixes[] = {
    {"-", "-", kUnary, [](double a, double) { return -a; }},
    {"!", "", kUnary, inverted},
    {"not", "not", kNot, inverted},
};

struct NamedFunction {
  std::string_view manifest, python;
  std::size_t arguments;  ///< 0: one or more
  Function function;
};
constexpr NamedFunction kFunctions[] = {
    {"min", "min", 0, [](double a, double b) { return defined(a, b, std::min(a, b)); }},
    {"max", "max", 0, [](double a, double b) { return defined(a, b, std::max(a, b)); }},
    {"ceil_div", "", 2, [](double a, double b) { return std::ceil(quotient(a, b)); }},
    {"floor_div", "", 2, floor_div},
    {"round_up", "", 2, [](double a, double b) { return std::ceil(quotient(a, b)) * b; }},
    {"log2", "", 1, [](double a, double) { return a > 0 ? std::log2(a) : kNotDefined; }},
    {"int", "int", 1, [](double a, double) { return std::trunc(a); }},
    {"", "float", 1, [](double a, double) { return a; }},
    {"abs", "abs", 1, [](double a, double) { return std::abs(a); }},
    {"", "round", 1, [](double a, double) { return std::nearbyint(a); }},
};
constexpr std::array<std::string_view, 6> kNoNames = {"and", "or", "not", "in", "if", "else"};

}  // namespace

bool is_expression_word(std::string_view name) {
  return std::ranges::count(kNoNames, name) > 0 ||
         std::ranges::count(kFunctions, name, &NamedFunction::manifest) > 0;
}

/// Emits the steps of one expression.
class ExpressionParser : TokenReader {
  using Do = Expression::Do;

 public:
  ExpressionParser(Expression& out, Syntax syntax)
      : TokenReader(out.text_, syntax), out_(out), python_(syntax == Syntax::kPython) {}

  Status parse() {
    if (!python_ && next().empty()) return out_.error("is empty");
    FATUNE_TRY_STATUS(conditional());
    if (!python_ && next() == ",")
      return out_.error("is several expressions; a comma belongs between arguments only");
    if (!next().empty()) return wrong();
    for (const auto& [name, steps] : uses_) {
      for (const std::size_t step : steps) set_target(step, out_.variables_.size());
      out_.variables_.emplace_back(name);
    }
    out_.values_.assign(out_.variables_.size(), 1.0);
    out_.kept_.resize(kept_);
    out_.stack_.resize(out_.steps_.size() + 1);
    return {};
  }

 private:
  /// Finds the next token in a table; null if the table lacks it.
  template <typename Row, std::size_t kRows>
  const Row* next_in(const Row (&table)[kRows]) const {
    for (const Row& row : table) {
      if (!next().empty() && next() == (python_ ? row.python : row.manifest)) return &row;
    }
    return nullptr;
  }

  Error wrong() const {
    const std::string found = next().empty() ? "the end" : fmt::format("'{}'", next());
    if (python_) return out_.error("is not understood at " + found);
    if (next().empty()) return out_.error("cannot be parsed: it ends too early");
    const char c = next().front();
    const auto place = static_cast<std::size_t>(next().data() - out_.text_.data()) + 1;
    if (next().size() == 1 && std::string_view("=&|").find(c) != std::string_view::npos) {
      return out_.error(fmt::format("{} at character {} is not an operator; did you mean '{}{}'?",
                                    found, place, c, c));
    }
    const bool known =
        in_word(c) || std::string_view("+-*/%<>!?:(),=&|").find(c) != std::string_view::npos;
    if (known)
      return out_.error(
          fmt::format("cannot be parsed: unexpected {} at character {}", found, place));
    const auto byte = static_cast<unsigned char>(c);
    return out_.error(fmt::format("unexpected character {} at position {}",
                                  std::isprint(byte) != 0 ? found : fmt::format("0x{:02x}", byte),
                                  place));
  }

  std::size_t emit(Do what, std::size_t target = 0, double number = 0) {
    out_.steps_.push_back({what, static_cast<std::uint32_t>(target), number});
    return out_.steps_.size() - 1;
  }
  void emit_call(Do what, Function function) { out_.steps_.push_back({what, 0, 0, function}); }
  void set_target(std::size_t step, std::size_t target) {
    out_.steps_[step].target = static_cast<std::uint32_t>(target);
  }
  /// Directs a jump to the step that is emitted next.
  void land(std::size_t step) { set_target(step, out_.steps_.size()); }

  Status descend() {
    if (++depth_ <= kDeepest) return {};
    return out_.error(fmt::format("nests more than {} levels deep", kDeepest));
  }

  /// Parses a, or a ? b : c.
  Status conditional() {
    FATUNE_TRY_STATUS(descend());
    FATUNE_TRY_STATUS(operands(kOr));
    if (python_ && skip("if")) {  // a if b else c: a stays where b holds, and c replaces it else
      FATUNE_TRY_STATUS(operands(kOr));
      const std::size_t choice = emit(Do::kChoose);
      const std::size_t end = emit(Do::kJump);
      land(choice);
      if (!skip("else")) return wrong();
      FATUNE_TRY_STATUS(conditional());
      emit_call(Do::kCall2, [](double, double b) { return b; });
      land(end);
    }
    if (!python_ && skip("?")) {
      const std::size_t choice = emit(Do::kChoose);
      FATUNE_TRY_STATUS(conditional());
      const std::size_t end = emit(Do::kJump);
      land(choice);
      if (!skip(":")) return wrong();
      FATUNE_TRY_STATUS(conditional());
      land(end);
    }
    --depth_;
    return {};
  }

  /// Parses one operand and the operators of at least this precedence level.
  Status operands(Level level) {
    if (const Operator* sign = next_in(kPrefixes); sign != nullptr && level <= sign->level) {
      ++at_;
      FATUNE_TRY_STATUS(descend());
      FATUNE_TRY_STATUS(operands(sign->level));
      --depth_;
      emit_call(Do::kCall1, sign->function);
    } else {
      FATUNE_TRY_STATUS(primary());
    }
    for (const Operator* sign = next_in(kOperators); sign != nullptr && level <= sign->level;
         sign = next_in(kOperators)) {
      if (sign->function != nullptr) {
        ++at_;
        FATUNE_TRY_STATUS(right_side(*sign));
      } else {
        FATUNE_TRY_STATUS(membership());
      }
    }
    return {};
  }

  /// a < b < c means a < b and b < c, as in Python.
  Status right_side(const Operator& sign) {
    const bool decides = sign.level <= kAnd;
    const std::size_t decided = decides ? emit(sign.level == kOr ? Do::kOrElse : Do::kAndThen) : 0;
    // Python's 2 ** -3 ** 2 means 2 ** (-(3 ** 2)).
    const bool power = sign.level == kPower;
    if (power) FATUNE_TRY_STATUS(descend());
    FATUNE_TRY_STATUS(operands(power ? kUnary : static_cast<Level>(sign.level + 1)));
    if (power) --depth_;
    const Operator* link = sign.level == kComparison ? next_in(kOperators) : nullptr;
    const bool goes_on = link != nullptr && link->level == kComparison && link->function != nullptr;
    if (goes_on) emit(Do::kKeep, kept_);
    emit_call(Do::kCall2, sign.function);
    if (goes_on) {
      ++at_;
      const std::size_t broken = emit(Do::kAndThen);
      emit(Do::kRecall, kept_++);
      FATUNE_TRY_STATUS(descend());
      FATUNE_TRY_STATUS(right_side(*link));
      --depth_;
      emit_call(Do::kCall2, both);
      land(broken);
    }
    if (decides) land(decided);
    return {};
  }

  /// a in [b, c] means a == b or a == c.
  Status membership() {
    const bool excludes = skip("not");
    if (!skip("in")) return wrong();
    const std::string_view closing = next() == "[" ? "]" : ")";
    if (!skip("[") && !skip("(")) return wrong();
    const std::size_t slot = kept_++;
    emit(Do::kKeep, slot);
    std::vector<std::size_t> found;
    do {
      if (!found.empty()) emit(Do::kRecall, slot);
      FATUNE_TRY_STATUS(conditional());
      emit_call(Do::kCall2, equal);
      if (!found.empty()) emit_call(Do::kCall2, either);
      found.push_back(emit(Do::kOrElse));
    } while (skip(",") && next() != closing);
    if (!skip(closing)) return wrong();
    for (const std::size_t step : found) land(step);
    if (excludes) emit_call(Do::kCall1, inverted);
    return {};
  }

  Status primary() {
    if (skip("(")) {
      FATUNE_TRY_STATUS(conditional());
      return skip(")") ? Status() : wrong();
    }
    const std::string_view token = next();
    if (token.empty()) return wrong();
    if (starts_name(token.front())) return name(token);
    const auto number = parse_number(token);
    if (!number) return wrong();
    emit(Do::kNumber, 0, *number);
    ++at_;
    return {};
  }

  /// Parses a variable, a truth value, or a function with its arguments.
  Status name(std::string_view token) {
    const bool called = next(1) == "(";
    const NamedFunction* function = next_in(kFunctions);
    if (function != nullptr && called) return call(*function);
    if (std::find(kNoNames.begin(), kNoNames.end(), token) != kNoNames.end()) return wrong();
    if (python_) {
      if (called) return wrong();
    } else if (function != nullptr) {
      return out_.error(
          fmt::format("'{}' is a function and needs arguments in parentheses", token));
    } else if (called) {
      std::vector<std::string> known;
      for (const NamedFunction& each : kFunctions) {
        if (!each.manifest.empty()) known.emplace_back(each.manifest);
      }
      return out_.error(fmt::format("unknown function '{}'{}", token,
                                    nearest_hint(token, known, " (did you mean '{}'?)",
                                                 fmt::format(" (known: {})", join(known, ", ")))));
    }
    if (token.find('.') != std::string_view::npos) return wrong();
    ++at_;
    if (token == "True" || token == "False") {
      emit(Do::kNumber, 0, token == "True" ? 1 : 0);
    } else {
      uses_[token].push_back(emit(Do::kVariable));
    }
    return {};
  }

  Status call(const NamedFunction& function) {
    const std::string_view name = next();
    at_ += 2;
    std::size_t arguments = 0;
    do {
      FATUNE_TRY_STATUS(conditional());
      if (++arguments > 1 && function.arguments == 0) emit_call(Do::kCall2, function.function);
    } while (skip(","));
    if (!skip(")")) return wrong();
    if (function.arguments == 0) return {};
    if (arguments != function.arguments) {
      return out_.error(fmt::format("cannot be parsed: {} takes {} argument{}, not {}", name,
                                    function.arguments, function.arguments == 1 ? "" : "s",
                                    arguments));
    }
    emit_call(arguments == 1 ? Do::kCall1 : Do::kCall2, function.function);
    return {};
  }

  Expression& out_;
  bool python_;
  std::size_t kept_ = 0;
  int depth_ = 0;
  std::map<std::string_view, std::vector<std::size_t>> uses_;  ///< steps that read each variable
};

Result<Expression> Expression::parse(std::string_view text, std::string where, Syntax syntax) {
  Expression expression;
  expression.text_ = std::string(text);
  expression.where_ = std::move(where);
  if (text.size() > kLongestExpression)
    return expression.error(fmt::format("is longer than {} characters", kLongestExpression));
  FATUNE_TRY_STATUS(ExpressionParser(expression, syntax).parse());
  return expression;
}

}  // namespace fatune
