// expression_test.cpp: Checks both expression syntaxes: operators, undefined values, errors.
#include "model/kernel/expression.hpp"

#include <clocale>

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

namespace fatune {
namespace {

Scope scope() {
  Scope scope;
  scope.set("A", 7);
  scope.set("B", 2);
  scope.set("ZERO", 0);
  scope.set("BLOCK_M", 64);
  return scope;
}

double value(std::string_view text, Syntax syntax = Syntax::kManifest) {
  const auto expression = Expression::parse(text, "f", syntax);
  INFO(text << (expression ? "" : ": " + expression.error().message));
  REQUIRE(expression);
  const auto result = expression->evaluate(scope());
  INFO((result ? "" : result.error().message));
  REQUIRE(result);
  return *result;
}

std::string parse_error(std::string_view text) {
  const auto expression = Expression::parse(text, "k.json: field 'x'");
  return expression ? "" : expression.error().message;
}

double python(std::string_view text) { return value(text, Syntax::kPython); }

std::string python_error(std::string_view text) {
  const auto expression = Expression::parse(text, "t1", Syntax::kPython);
  return expression ? "" : expression.error().message;
}

std::string evaluation_error(std::string_view text) {
  const auto expression = Expression::parse(text, "k.json: field 'x'");
  REQUIRE(expression);
  const auto result = expression->evaluate(scope());
  return result ? "" : result.error().message;
}

TEST_CASE("manifests chain comparisons and know Python's words") {
  CHECK(value("1 <= A <= 6") == 0);
  CHECK(value("1 <= A <= 7 <= BLOCK_M") == 1);
  CHECK(value("8 > A > B") == 1);
  CHECK(value("(1 <= A) <= 6") == 1);
  CHECK(value("A == 6 or B in [1, 2] and not A < B") == 1);
  CHECK(value("A not in (7, 8)") == 0);
  CHECK(value("ZERO == 0 or 1 / ZERO < 2") == 1);
  CHECK(value("abs(B - A)") == 5);
  CHECK_FALSE(parse_error("A + and").empty());
  CHECK_FALSE(parse_error("in").empty());
}

TEST_CASE("operators have their usual meaning and precedence") {
  CHECK(value("A + B * 3 - 1") == 12);
  CHECK(value("(A + B) * 3") == 27);
  CHECK(value("A / B") == 3.5);
  CHECK(value("A % B") == 1);
  CHECK(value("A - B - 1") == 4);
  CHECK(value("-A + 10") == 3);
  CHECK(value("3 - -2") == 5);
  CHECK(value("A % B == 1 && B < A") == 1);
  CHECK(value("A == 6 || B >= 3") == 0);
  CHECK(value("A <= 7 && A >= 7 && A != 8 && !(A > 7)") == 1);
  CHECK(value("!ZERO == 1") == 1);
  CHECK(value("A == -7 || 1") == 1);
  CHECK(value("1.5e1 * 2") == 30);
}

TEST_CASE("conditions choose, nest and group to the right") {
  CHECK(value("A > B ? 10 : 20") == 10);
  CHECK(value("A < B ? 10 : A < 3 ? 20 : 30") == 30);
  CHECK(value("2 * (ZERO ? 1 : 5) + 1") == 11);
  CHECK(value("max(A > 1 ? 2 : 3, B ? 4 : 5)") == 4);
  CHECK(value("A > B ? B > 5 ? 1 : 2 : 3") == 2);
}

TEST_CASE("functions take the arguments the README says") {
  CHECK(value("ceil_div(A, B)") == 4);
  CHECK(value("floor_div(A, B)") == 3);
  CHECK(value("round_up(A, 4)") == 8);
  CHECK(value("min(A, B, 1)") == 1);
  CHECK(value("max(A, B)") == 7);
  CHECK(value("log2(BLOCK_M)") == 6);
  CHECK(value("ceil_div(9007199254740991, 2)") == 4503599627370496.0);
}

TEST_CASE("an undefined value is an error wherever it decides") {
  CHECK(evaluation_error("A / ZERO") ==
        "k.json: field 'x': 'A / ZERO' is not a finite number with A=7 ZERO=0 (division by zero?)");
  CHECK_FALSE(evaluation_error("A % ZERO == 1").empty());
  CHECK_FALSE(evaluation_error("A / ZERO > 2").empty());
  CHECK_FALSE(evaluation_error("!(A / ZERO)").empty());
  CHECK_FALSE(evaluation_error("A / ZERO > 2 ? 1 : 2").empty());
  CHECK_FALSE(evaluation_error("1 + (A / ZERO > 2 ? 1 : 2)").empty());
  CHECK_FALSE(evaluation_error("max(1, A / ZERO)").empty());
  CHECK_FALSE(evaluation_error("ceil_div(A, ZERO)").empty());
  CHECK_FALSE(evaluation_error("round_up(A, ZERO)").empty());
  CHECK_FALSE(evaluation_error("log2(ZERO)").empty());
  CHECK_FALSE(evaluation_error("A == 7 && A / ZERO > 1").empty());
}

TEST_CASE("&&, || and ?: guard what they make irrelevant") {
  CHECK(value("ZERO != 0 && A % ZERO == 0") == 0);
  CHECK(value("ZERO == 0 || A % ZERO == 0") == 1);
  CHECK(value("ZERO == 0 ? 5 : A / ZERO") == 5);
  CHECK(value("A % ZERO == 0 && ZERO != 0") == 0);
  CHECK(value("A % ZERO == 0 || ZERO == 0") == 1);
  CHECK(value("ZERO != 0 && (A / ZERO > 1 ? A : 1)") == 0);
}

TEST_CASE("a decision is 0 or 1, whatever decided it") {
  CHECK(value("A || ZERO") == 1);
  CHECK(value("ZERO || A") == 1);
  CHECK(value("A && B") == 1);
  CHECK(value("!A") == 0);
  CHECK(value("(A < B) < 3") == 1);  // 0 < 3
  CHECK(python("A or ZERO") == 1);
}

TEST_CASE("Python's operators mean what they mean there") {
  CHECK(python("A == 7 or B % ZERO != 0") == 1);
  CHECK(python("1 <= A < 8 != B") == 1);
  CHECK(python("A < B < 3") == 0);
  CHECK(python("3 < A <= 7 < BLOCK_M") == 1);
  CHECK(python("3 < A <= 6 < 1 / ZERO") == 0);
  CHECK(python("32 <= A * B + 30 <= 1024") == 1);
  CHECK(python("not A == 1 and B") == 1);
  CHECK(python("not not A") == 1);
  CHECK(python("A // 2 - -B / 4") == 3.5);
  CHECK(python("-A // 2") == -4);
  CHECK(python("-A % 4") == 1);
  CHECK(python("A % -4") == -1);
  CHECK(python("-8 % 4") == 0);
  CHECK(python("max(A, B+1, 8) >= min(2,B)") == 1);
  CHECK(python("(A or True) and False") == 0);
  CHECK(python("A in [1, 7] and A in (7,) and B not in [1, A, 3]") == 1);
  CHECK(python("A + 1 in [7, 9] or not B in [2]") == 0);
  CHECK(python("A\t==\n7") == 1);
  CHECK(python("1 + (A if A < 4 else 2 * A if B == 2 else 0)") == 15);
  CHECK(python("(1 / ZERO if ZERO else A) - (A if B else 1 / ZERO)") == 0);
  CHECK(python("-A ** 2 + 2 ** -1 + 2 ** 3 ** 2 + int(-2.5) + abs(-3)") == 464.5);
}

TEST_CASE("manifests have Python's operators, too") {
  CHECK(value("A // 2 + 2 ** 3 + (1 << A) // 3 + (B >> 1) + int(A / 2)") == 57);
  CHECK(value("(A == 7) == True && False == 0") == 1);
}

TEST_CASE("what is not understood of Python is quoted with its place") {
  CHECK(python_error("\xd0\xb0 == 4") == "t1: '\xd0\xb0 == 4' is not understood at '\xd0\xb0'");
  CHECK(python_error("a if b") == "t1: 'a if b' is not understood at the end");
  CHECK(python_error("sum(a) == 1") == "t1: 'sum(a) == 1' is not understood at 'sum'");
  CHECK(python_error("w == 'x'") == "t1: 'w == 'x'' is not understood at ''x''");
  CHECK(python_error("(a == 1") == "t1: '(a == 1' is not understood at the end");
  CHECK(python_error("") == "t1: '' is not understood at the end");
  CHECK(python_error("a.b == 1") == "t1: 'a.b == 1' is not understood at 'a.b'");
  CHECK(python_error("a in []") == "t1: 'a in []' is not understood at ']'");
  CHECK(python_error("a not b") == "t1: 'a not b' is not understood at 'b'");
  CHECK(python_error("a && b") == "t1: 'a && b' is not understood at '&&'");
  CHECK(python_error("a ? b : c") == "t1: 'a ? b : c' is not understood at '?'");
  CHECK(python_error(std::string(5000, '(')) ==
        "t1: '" + std::string(1000, '(') + "...' nests more than 200 levels deep");
}

TEST_CASE("depth and length have limits") {
  const auto nested = [](std::size_t depth, std::string_view before, std::string_view after) {
    std::string text = "1";
    for (std::size_t i = 0; i < depth; ++i) text = fmt::format("{}{}{}", before, text, after);
    return text;
  };
  CHECK(value(nested(199, "(", ")")) == 1);
  CHECK(value(nested(199, "1 + (", ")")) == 200);
  for (const std::string& text : {nested(200, "(", ")"), nested(200, "!", ""),
                                  nested(200, "0 ? 1 : ", ""), nested(200, "max(", ")")}) {
    CHECK(parse_error(text).ends_with("nests more than 200 levels deep"));
  }
  CHECK(python_error(nested(300, "1 < ", "")).ends_with("nests more than 200 levels deep"));
  CHECK(python(nested(20'000, "1+", "")) == 20'001);
  CHECK(parse_error(nested(32768, "1+", "")).ends_with("...' is longer than 65536 characters"));
  CHECK(python_error(nested(40'000, "1+", "")).ends_with("...' is longer than 65536 characters"));
}

TEST_CASE("what is not in the language is refused with a reason") {
  CHECK(parse_error("") == "k.json: field 'x': '' is empty");
  CHECK(parse_error("A = 3") ==
        "k.json: field 'x': 'A = 3' '=' at character 3 is not an operator; did you mean '=='?");
  CHECK(parse_error("A & B") ==
        "k.json: field 'x': 'A & B' '&' at character 3 is not an operator; did you mean '&&'?");
  CHECK(parse_error("A ^ B") ==
        "k.json: field 'x': 'A ^ B' unexpected character '^' at position 3");
  CHECK(parse_error("cel_div(A, B)") ==
        "k.json: field 'x': 'cel_div(A, B)' unknown function 'cel_div' (did you mean 'ceil_div'?)");
  CHECK(parse_error("sin(A)") ==
        "k.json: field 'x': 'sin(A)' unknown function 'sin' (did you mean 'min'?)");
  CHECK(parse_error("min + 1") ==
        "k.json: field 'x': 'min + 1' 'min' is a function and needs arguments in parentheses");
  CHECK(parse_error("A, B") ==
        "k.json: field 'x': 'A, B' is several expressions; a comma belongs between arguments only");
  CHECK(parse_error("A B") ==
        "k.json: field 'x': 'A B' cannot be parsed: unexpected 'B' at character 3");
  CHECK(parse_error("A +") == "k.json: field 'x': 'A +' cannot be parsed: it ends too early");
  CHECK(parse_error("log2(A, B)") ==
        "k.json: field 'x': 'log2(A, B)' cannot be parsed: log2 takes 1 argument, not 2");
  for (const char* text : {"(A", "A)", "A +", "* A", "A ? 1", "A : 1", "ceil_div(A)", "min()",
                           "1 2", "\"A\"", "A\n+\x01", "0x10", "A == == B", "2A"}) {
    INFO(text);
    CHECK_FALSE(parse_error(text).empty());
  }
  CHECK_FALSE(parse_error(std::string(5000, '1')).empty());
}

TEST_CASE("the library's own constants are ordinary unknown names") {
  CHECK(evaluation_error("_pi") == "k.json: field 'x': '_pi' uses the unknown name '_pi'");
  CHECK(
      evaluation_error("BLOCK_N * 2") ==
      "k.json: field 'x': 'BLOCK_N * 2' uses the unknown name 'BLOCK_N' (did you mean 'BLOCK_M'?)");
}

TEST_CASE("variables are listed once") {
  const auto expression = Expression::parse("B * A + A", "f");
  REQUIRE(expression);
  CHECK(expression->variables() == std::vector<std::string>{"A", "B"});
}

TEST_CASE("a count is a whole number that is not negative") {
  const auto count = [](std::string_view text) {
    const auto expression = Expression::parse(text, "f");
    REQUIRE(expression);
    return expression->count(scope());
  };
  CHECK(*count("A * 3") == 21);
  CHECK(*count("0") == 0);
  CHECK(count("A / B").error().message ==
        "f: 'A / B' is 3.5, which is not a whole number >= 0 with A=7 B=2");
  CHECK(count("B - A").error().message ==
        "f: 'B - A' is -5, which is not a whole number >= 0 with A=7 B=2");
  CHECK(*count("1e300") == std::int64_t{1} << 53);  // more than any device has
}

TEST_CASE("slots written by set() are what an evaluation without a scope uses") {
  auto expression = Expression::parse("A - B", "f");
  REQUIRE(expression);
  expression->set(0, 10);
  expression->set(1, 4);
  CHECK(*expression->evaluate() == 6);
  Expression moved = *std::move(expression);
  moved.set(1, 9);
  CHECK(*moved.evaluate() == 1);
  CHECK(*moved.test());
}

TEST_CASE("the decimal separator does not depend on the locale") {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  CHECK(value("0.5 * 4") == 2);
  std::setlocale(LC_ALL, before.c_str());
}

}  // namespace
}  // namespace fatune
