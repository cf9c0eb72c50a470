// python_text_test.cpp - checks how Python's lines, blocks and expressions are cut.
#include "model/interchange/python_text.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace fatune;

namespace {

using PyKind = PyStatement::Kind;

std::vector<PyStatement> python(const std::string& text) {
  auto statements = parse_python(text, "x.py");
  INFO((statements ? "" : statements.error().message));
  REQUIRE(statements);
  return *std::move(statements);
}

std::string python_fault(const std::string& text) {
  const auto statements = parse_python(text, "x.py");
  return statements ? "none" : statements.error().message;
}

}  // namespace

TEST_CASE("a file of Python is cut into its statements") {
  const auto module = python(R"("""Words
in lines."""
import torch.nn.functional as F, math
from a.b import (c,
                 d as e)  # two names
size = 2 * (3 +
  4)
a, b = 1, \
  2

class Model(Base):
    def forward(self, x: Tensor[int, str], *, y=f(1, 2)) -> None:
        z: int = 1
        for i in x:
            g(i)
        return x.shape[-1], {"k": y}
def one(): return 1
)");
  REQUIRE(module.size() == 7);
  CHECK(module[0].kind == PyKind::kExpression);
  CHECK(module[1].names == std::vector<std::string>{"F", "math"});
  CHECK(module[1].paths == std::vector<std::string>{"torch.nn.functional", "math"});
  CHECK(module[2].paths == std::vector<std::string>{"a.b.c", "a.b.d"});
  CHECK(module[2].names == std::vector<std::string>{"c", "e"});
  CHECK(module[3].kind == PyKind::kAssign);
  CHECK(module[4].names == std::vector<std::string>{"a", "b"});
  CHECK(module[4].line == 8);
  const PyStatement* model = find_block(module, PyKind::kClass, "Model");
  REQUIRE(model != nullptr);
  const PyStatement* forward = find_block(model->body, PyKind::kFunction, "forward");
  REQUIRE(forward != nullptr);
  CHECK(forward->names == std::vector<std::string>{"self", "x", "y"});
  REQUIRE(forward->body.size() == 3);
  CHECK(forward->body[0].kind == PyKind::kAssign);
  CHECK(forward->body[1].kind == PyKind::kOther);
  CHECK(forward->body[1].text == "for i in x :");
  CHECK(forward->body[2].kind == PyKind::kReturn);
  CHECK(forward->body[2].line == 16);
  const PyStatement* one = find_block(module, PyKind::kFunction, "one");
  REQUIRE(one != nullptr);
  REQUIRE(one->body.size() == 1);
  CHECK(one->body[0].kind == PyKind::kReturn);
}

TEST_CASE("operators bind as Python's do") {
  const auto e = parse_python_expression("1 - -2 ** 2 * a.b(3, c=[4])[0]", "x");
  REQUIRE(e);
  CHECK(e->text == "-");
  CHECK(e->parts[1].text == "*");
  CHECK(e->parts[1].parts[0].kind == PyExpression::Kind::kNegative);
  CHECK(e->parts[1].parts[1].kind == PyExpression::Kind::kIndex);
  CHECK_FALSE(parse_python_expression("a if b else c", "x"));
  CHECK_FALSE(parse_python_expression("f(x=1, 2)", "x"));
  CHECK_FALSE(parse_python_expression("a\nb", "x"));
}

TEST_CASE("what is no Python is an error with its line") {
  CHECK(python_fault("a = (1,\n2") == "x.py: line 2: a bracket is not closed");
  CHECK(python_fault("a = ]") == "x.py: line 1: ']' closes nothing");
  CHECK(python_fault("\nb = 'abc\n'") == "x.py: line 2: a string does not end");
  CHECK(python_fault("'''abc") == "x.py: line 1: a string does not end");
  CHECK(python_fault(std::string(100, '(')) == "x.py: line 1: brackets nest too deep");
  CHECK(python_fault(std::string((64 << 10) + 1, ' ')).find("x.py") != std::string::npos);
  std::string deep;
  for (std::size_t i = 0; i < 100; ++i) deep += std::string(i, ' ') + "if a:\n";
  CHECK(python_fault(deep).find("blocks nest too deep") != std::string::npos);
}

TEST_CASE("long expressions are not followed") {
  std::string text = "a = 1";
  for (int i = 0; i < 10'000; ++i) text += " + 1";
  CHECK(python(text).front().kind == PyKind::kOther);
  CHECK(python("a = " + std::string(10'000, '-') + "1").front().kind == PyKind::kOther);
  std::string chain = "a = x";
  for (int i = 0; i < 10'000; ++i) chain += ".y";
  CHECK(python(chain).front().kind == PyKind::kOther);
}
