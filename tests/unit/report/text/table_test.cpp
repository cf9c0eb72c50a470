// table_test.cpp: Tests equal cells as text, Markdown and CSV.
#include <catch2/catch_test_macros.hpp>

#include "report/text/layout.hpp"

namespace fatune {
namespace {

Table sample_table() {
  Table table({"name", ">time", "note"});
  table.add({"fa_mma", "9.8", "fast"});
  table.add({"µ·naive", "100.0", ""});
  return table;
}

TEST_CASE("text is aligned by columns on the screen, not bytes") {
  CHECK(sample_table().text() ==
        "name      time  note\n"
        "-------  -----  ----\n"
        "fa_mma     9.8  fast\n"
        "µ·naive  100.0\n");
}

TEST_CASE("a table that is too wide loses spare columns, then wraps its words") {
  Table table({">n", {">spare", 1}, "why"});
  table.add({"1", "22222", "four words of a reason"});
  CHECK(table.text(36) ==
        "n  spare  why\n"
        "-  -----  ----------------------\n"
        "1  22222  four words of a reason\n");
  CHECK(table.text(30) ==
        "n  why\n"
        "-  ----------------------\n"
        "1  four words of a reason\n");
  CHECK(table.text(24) ==
        "n  why\n"
        "-  ---------------------\n"
        "1  four words of a\n"
        "   reason\n");
  CHECK(table.text(1).find("\n-  --------------------\n") != std::string::npos);
}

TEST_CASE("a column that goes last goes only where wrapping is not enough") {
  Table table({"reason", {">last", kLastSpare}});
  table.add({"words of a reason that is long", "1"});
  CHECK(table.text(30) ==
        "reason                    last\n"
        "------------------------  ----\n"
        "words of a reason that       1\n"
        "is long\n");
  CHECK(table.text(18).find("last") == std::string::npos);
}

TEST_CASE("Markdown has its rule and no stray bars") {
  Table table({"a", ">b"});
  table.add({"x || y", "line\nbreak"});
  CHECK(table.markdown() == "| a | b |\n|---|---:|\n| `x \\|\\| y` | line break |\n");
}

TEST_CASE("Markdown shows what names say as it stands") {
  for (const char* plain : {"fa_rows, 1x2 (f16)", "torch:flash", "0.98 µs", "-", "[0.98, 1.02]"})
    CHECK(markdown_text(plain) == plain);
  for (const char* markup : {"<img src=x>", "[a](b)", "[1, 2](b)", "@you", "#1", "*a*", "_a_",
                             "a & b", "~a~", "http://a", "www.a.b", "\\<"})
    CHECK(markdown_text(markup) == "`" + std::string(markup) + "`");
  CHECK(markdown_text("a\n# b") == "`a # b`");
  CHECK(markdown_text("``<b>`") == "``` ``<b>` ```");
}

TEST_CASE("CSV quotes what needs it") {
  Table table({"a", "b"});
  table.add({"1,5", "say \"hi\""});
  table.add({"plain", "two\nlines"});
  CHECK(table.csv() == "a,b\n\"1,5\",\"say \"\"hi\"\"\"\nplain,\"two\nlines\"\n");
}

TEST_CASE("an empty table says so and still has its titles") {
  const Table table({"a"});
  CHECK(table.empty());
  CHECK_FALSE(sample_table().empty());
  CHECK(table.text() == "a\n-\n");
}

}  // namespace
}  // namespace fatune
