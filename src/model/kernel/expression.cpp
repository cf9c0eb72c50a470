// expression.cpp - manifest arithmetic to numbers; the only file that knows the expression library.
#include "model/kernel/expression.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <muParser.h>

#include "core/text.hpp"

namespace fatune {
namespace {

constexpr double kLargestCount = 9007199254740992;  // 2^53, to which doubles hold every integer
constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kConditionFunction = "condition_";

// An undefined operand makes the result undefined; && and || may not need it.
template <typename Function>
double defined(double a, double b, Function function) {
  return std::isnan(a) || std::isnan(b) ? kUndefined : static_cast<double>(function(a, b));
}
double quotient(double a, double b) { return b == 0 ? kUndefined : a / b; }

double add(double a, double b) { return a + b; }
double subtract(double a, double b) { return a - b; }
double multiply(double a, double b) { return a * b; }
double divide(double a, double b) { return quotient(a, b); }
double remainder_of(double a, double b) { return b == 0 ? kUndefined : std::fmod(a, b); }
double less(double a, double b) {
  return defined(a, b, [](double x, double y) { return x < y; });
}
double less_equal(double a, double b) {
  return defined(a, b, [](double x, double y) { return x <= y; });
}
double greater(double a, double b) { return less(b, a); }
double greater_equal(double a, double b) { return less_equal(b, a); }
double equal(double a, double b) {
  return defined(a, b, [](double x, double y) { return x == y; });
}
double not_equal(double a, double b) {
  return defined(a, b, [](double x, double y) { return x != y; });
}
double both(double a, double b) {
  if (a == 0 || b == 0) return 0;
  return defined(a, b, [](double, double) { return true; });
}
double either(double a, double b) {
  if ((!std::isnan(a) && a != 0) || (!std::isnan(b) && b != 0)) return 1;
  return defined(a, b, [](double, double) { return false; });
}
double negate(double a) { return -a; }
double invert(double a) { return std::isnan(a) ? a : (a == 0 ? 1 : 0); }
double ceil_div(double a, double b) { return std::ceil(quotient(a, b)); }
double floor_div(double a, double b) { return std::floor(quotient(a, b)); }
double round_up(double a, double b) { return ceil_div(a, b) * b; }
double log2_of(double a) { return a > 0 ? std::log2(a) : kUndefined; }

template <typename Better>
double best_of(const double* values, int n, Better better) {
  double best = values[0];
  for (int i = 0; i < n; ++i) {
    if (std::isnan(values[i])) return kUndefined;
    if (better(values[i], best)) best = values[i];
  }
  return best;
}
double smallest(const double* values, int n) {
  return best_of(values, n, [](double a, double b) { return a < b; });
}
double largest(const double* values, int n) {
  return best_of(values, n, [](double a, double b) { return a > b; });
}
// Stands around every condition of a `?:`, where the library would take an undefined value for
// true.
double note_undefined(void* flag, double condition) {
  if (std::isnan(condition)) *static_cast<bool*>(flag) = true;
  return condition;
}

const std::array<std::string, 6> kFunctions = {"min",       "max",      "ceil_div",
                                               "floor_div", "round_up", "log2"};

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

std::size_t end_of_name(std::string_view text, std::size_t at) {
  while (at < text.size() && (starts_name(text[at]) || is_digit(text[at]))) ++at;
  return at;
}
std::size_t end_of_number(std::string_view text, std::size_t at) {
  while (at < text.size() && (is_digit(text[at]) || text[at] == '.')) ++at;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t digits = at + 1;
    if (digits < text.size() && (text[digits] == '+' || text[digits] == '-')) ++digits;
    if (digits < text.size() && is_digit(text[digits])) {
      at = digits;
      while (at < text.size() && is_digit(text[at])) ++at;
    }
  }
  return at;
}

std::optional<std::string> problem_of_call(std::string_view text, std::size_t begin,
                                           std::size_t end) {
  std::size_t next = end;
  while (next < text.size() && text[next] == ' ') ++next;
  const std::string name(text.substr(begin, end - begin));
  const bool known = std::find(kFunctions.begin(), kFunctions.end(), name) != kFunctions.end();
  const bool called = next < text.size() && text[next] == '(';
  if (called == known) return std::nullopt;
  if (known) return fmt::format("'{}' is a function and needs arguments in parentheses", name);
  const auto near = nearest_name(name, kFunctions);
  return fmt::format("unknown function '{}'{}", name,
                     near ? fmt::format(" (did you mean '{}'?)", *near)
                          : fmt::format(" (known: {})", join(kFunctions, ", ")));
}

// What the library would accept or explain badly: assignments, other characters, unknown functions.
std::optional<std::string> problem_of_text(std::string_view text) {
  if (text.size() > kLongestExpression) {
    return fmt::format("is longer than {} characters", kLongestExpression);
  }
  if (trim(text).empty()) return "is empty";
  static constexpr std::string_view kDoubled = "=&|";
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (starts_name(c)) {
      const std::size_t end = end_of_name(text, at);
      if (auto problem = problem_of_call(text, at, end)) return problem;
      at = end;
    } else if (is_digit(c) || c == '.') {
      at = end_of_number(text, at);
    } else if ((c == '<' || c == '>' || c == '!') && text.substr(at + 1, 1) == "=") {
      at += 2;
    } else if (kDoubled.find(c) != std::string_view::npos) {
      if (text.substr(at + 1, 1) != std::string_view(&c, 1)) {
        return fmt::format("'{}' at character {} is not an operator; did you mean '{}{}'?", c,
                           at + 1, c, c);
      }
      at += 2;
    } else if (std::string_view(" +-*/%<>!?:(),").find(c) != std::string_view::npos) {
      ++at;
    } else {
      return fmt::format("unexpected character {} at position {}",
                         std::isprint(static_cast<unsigned char>(c)) != 0
                             ? fmt::format("'{}'", c)
                             : fmt::format("0x{:02x}", static_cast<unsigned char>(c)),
                         at + 1);
    }
  }
  return std::nullopt;
}

// `a ? b : c` becomes `condition_(a) ? b : c`. A condition reaches back to the nearest '(' ',' '?'
// or ':'.
std::string mark_conditions(std::string_view text) {
  std::string out;
  std::vector<std::size_t> starts = {0};
  for (const char c : text) {
    if (c == '?') {
      out.insert(starts.back(), std::string(kConditionFunction) + "(");
      out += ')';
    }
    if (c == ')' && starts.size() > 1) starts.pop_back();
    out += c;
    if (c == '(') starts.push_back(out.size());
    if (c == ',' || c == '?' || c == ':') starts.back() = out.size();
  }
  return out;
}

void define_language(mu::Parser& parser, bool* undefined) {
  parser.EnableBuiltInOprt(false);
  parser.ClearConst();
  parser.ClearFun();
  parser.ClearInfixOprt();
  parser.ClearPostfixOprt();
  const auto binary = [&parser](const char* text, double (*function)(double, double),
                                unsigned precedence) {
    parser.DefineOprt(text, function, precedence, mu::oaLEFT, true);
  };
  binary("+", add, mu::prADD_SUB);
  binary("-", subtract, mu::prADD_SUB);
  binary("*", multiply, mu::prMUL_DIV);
  binary("/", divide, mu::prMUL_DIV);
  binary("%", remainder_of, mu::prMUL_DIV);
  binary("<", less, mu::prCMP);
  binary("<=", less_equal, mu::prCMP);
  binary(">", greater, mu::prCMP);
  binary(">=", greater_equal, mu::prCMP);
  binary("==", equal, mu::prCMP);
  binary("!=", not_equal, mu::prCMP);
  binary("&&", both, mu::prLAND);
  binary("||", either, mu::prLOR);
  parser.DefineInfixOprt("-", negate);
  parser.DefineInfixOprt("!", invert);
  parser.DefineFun("min", smallest);
  parser.DefineFun("max", largest);
  parser.DefineFun("ceil_div", ceil_div);
  parser.DefineFun("floor_div", floor_div);
  parser.DefineFun("round_up", round_up);
  parser.DefineFun("log2", log2_of);
  parser.DefineFunUserData(kConditionFunction, note_undefined, undefined, false);
}

}  // namespace

void Scope::set(std::string_view name, double value) {
  for (auto& [known, stored] : entries_) {
    if (known == name) {
      stored = value;
      return;
    }
  }
  entries_.emplace_back(name, value);
}

const double* Scope::find(std::string_view name) const {
  for (const auto& [known, value] : entries_) {
    if (known == name) return &value;
  }
  return nullptr;
}

std::vector<std::string> Scope::names() const {
  std::vector<std::string> names;
  for (const auto& entry : entries_) names.push_back(entry.first);
  return names;
}

struct Expression::Parsed {
  std::string text;
  std::string where;
  std::vector<std::string> variables;
  std::vector<double> values;  ///< of the variables; the parser holds pointers into it
  bool undefined_condition = false;
  mu::Parser parser;

  Error error(const std::string& problem) const {
    return file_error(fmt::format("{}: '{}' {}", where, text, problem));
  }
  std::string values_text() const {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      parts.push_back(fmt::format("{}={}", variables[i], values[i]));
    }
    return parts.empty() ? "" : fmt::format(" with {}", join(parts, " "));
  }
  /// Finds the variables, gives each a slot and compiles the text.
  void compile() {
    define_language(parser, &undefined_condition);
    parser.SetExpr(text);
    for (const auto& used : parser.GetUsedVar()) variables.push_back(used.first);
    values.assign(variables.size(), 1.0);
    for (std::size_t i = 0; i < variables.size(); ++i) {
      parser.DefineVar(variables[i], &values[i]);
    }
    parser.SetExpr(mark_conditions(text));
    parser.Eval();
  }
  Status bind(const Scope& scope);
};

Expression::Expression(std::unique_ptr<Parsed> parsed) : parsed_(std::move(parsed)) {}
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;
Expression::~Expression() = default;

Result<Expression> Expression::parse(std::string_view text, std::string where) {
  auto parsed = std::make_unique<Parsed>();
  parsed->text = std::string(text);
  parsed->where = std::move(where);
  if (auto problem = problem_of_text(text)) return parsed->error(*problem);
  try {
    parsed->compile();
  } catch (const mu::ParserError& error) {
    return parsed->error(fmt::format("cannot be parsed: {}", error.GetMsg()));
  }
  if (parsed->parser.GetNumResults() != 1) {
    return parsed->error("is several expressions; a comma belongs between arguments only");
  }
  return Expression(std::move(parsed));
}

const std::string& Expression::text() const { return parsed_->text; }
const std::string& Expression::where() const { return parsed_->where; }
const std::vector<std::string>& Expression::variables() const { return parsed_->variables; }

void Expression::set(std::size_t variable, double value) { parsed_->values[variable] = value; }

Result<double> Expression::evaluate() const {
  Parsed& parsed = *parsed_;
  parsed.undefined_condition = false;
  try {
    const double value = parsed.parser.Eval();
    if (std::isfinite(value) && !parsed.undefined_condition) return value;
  } catch (const mu::ParserError& error) {
    return parsed.error(fmt::format("cannot be evaluated: {}", error.GetMsg()));
  }
  return parsed.error(
      fmt::format("is not a finite number{} (division by zero?)", parsed.values_text()));
}

Result<bool> Expression::test() const {
  FATUNE_TRY(const double value, evaluate());
  return value != 0;
}

Result<std::int64_t> Expression::count() const {
  FATUNE_TRY(const double value, evaluate());
  if (value < 0 || value > kLargestCount || value != std::floor(value)) {
    return parsed_->error(
        fmt::format("is {}, which is not a whole number >= 0{}", value, parsed_->values_text()));
  }
  return static_cast<std::int64_t>(value);
}

Status Expression::Parsed::bind(const Scope& scope) {
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const double* value = scope.find(variables[i]);
    if (value == nullptr) {
      const auto near = nearest_name(variables[i], scope.names());
      return error(fmt::format("uses the unknown name '{}'{}", variables[i],
                               near ? fmt::format(" (did you mean '{}'?)", *near) : ""));
    }
    values[i] = *value;
  }
  return {};
}

Result<double> Expression::evaluate(const Scope& scope) const {
  FATUNE_TRY_STATUS(parsed_->bind(scope));
  return evaluate();
}

Result<bool> Expression::test(const Scope& scope) const {
  FATUNE_TRY_STATUS(parsed_->bind(scope));
  return test();
}

Result<std::int64_t> Expression::count(const Scope& scope) const {
  FATUNE_TRY_STATUS(parsed_->bind(scope));
  return count();
}

}  // namespace fatune
