// diff_test.cpp: Tests differences of texts line by line.
#include "evolve/report/diff.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace fatune;

namespace {

std::string drawn(const std::string& before, const std::string& after, std::size_t context = 1) {
  std::string text;
  for (const DiffLine& line : line_diff(before, after, context)) {
    constexpr const char* kMarks = " -+~";
    text += kMarks[static_cast<std::size_t>(line.kind)] + line.text + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("a changed line stands between its neighbours") {
  CHECK(drawn("a\nb\nc\nd\ne\n", "a\nb\nX\nd\ne\n") == " b\n-c\n+X\n d\n");
}

TEST_CASE("lines between two differences are a gap") {
  CHECK(drawn("1\n2\n3\n4\n5\n6\n7\n", "0\n2\n3\n4\n5\n6\n8\n") == "-1\n+0\n 2\n~\n 6\n-7\n+8\n");
}

TEST_CASE("the same text has no difference; an empty one is added whole") {
  CHECK(drawn("a\nb\n", "a\nb\n").empty());
  CHECK(drawn("a\n", "a\nb\nc\n") == " a\n+b\n+c\n");
}

TEST_CASE("a longest common subsequence is kept") {
  CHECK(drawn("a\nb\nc\nd\n", "b\nx\nd\ny\n", 0) == "-a\n~\n-c\n+x\n~\n+y\n");
}

TEST_CASE("texts too different to compare are removed and added whole") {
  std::string before, after;
  for (int i = 0; i < 2100; ++i) {
    before += "a" + std::to_string(i) + "\n";
    after += "b" + std::to_string(i) + "\n";
  }
  CHECK(line_diff(before, after).size() == 4200);
}
