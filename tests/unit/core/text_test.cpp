// text_test.cpp: Tests number formats and the string tools.
#include "core/text.hpp"

#include <cmath>

#include <catch2/catch_test_macros.hpp>

#include "core/run_program.hpp"

using namespace fatune;

TEST_CASE("microseconds keep three significant digits") {
  CHECK(describe(Micros(9.81)) == "9.81 us");
  CHECK(describe(Micros(0)) == "0 us");
  CHECK(describe(Micros(0.5124)) == "0.512 us");
  CHECK(describe(Micros(0.99951)) == "1.00 us");
  CHECK(describe(Micros(9.996)) == "10.0 us");
  CHECK(describe(Micros(99.96)) == "100 us");
  CHECK(describe(Micros(999.4)) == "999 us");
  CHECK(describe(Micros(999.6)) == "1.00 ms");
  CHECK(describe(Micros(1740)) == "1.74 ms");
  CHECK(describe(Micros(2.3e6)) == "2.3 s");
  CHECK(describe(Micros(-12.34)) == "-12.3 us");
}

TEST_CASE("seconds become minutes and hours") {
  CHECK(describe(Seconds(12.3)) == "12.3 s");
  CHECK(describe(Seconds(59.94)) == "59.9 s");
  CHECK(describe(Seconds(59.96)) == "1 min 00 s");
  CHECK(describe(Seconds(125)) == "2 min 05 s");
  CHECK(describe(Seconds(7380)) == "2 h 03 min");
  CHECK(describe(Seconds(-90)) == "-1 min 30 s");
  CHECK(describe(Seconds(INFINITY)) == "inf s");
}

TEST_CASE("bytes have binary units") {
  CHECK(describe(Bytes(512)) == "512 B");
  CHECK(describe(Bytes(48 * 1024)) == "48 KiB");
  CHECK(describe(Bytes(1500)) == "1.5 KiB");
  CHECK(describe(Bytes(8 << 20)) == "8.0 MiB");
  CHECK(describe(Bytes((1ULL << 30) - 1)) == "1.0 GiB");
  CHECK(describe(Bytes(141ULL << 30)) == "141.0 GiB");
}

TEST_CASE("fixed decimals never show a negative zero") {
  CHECK(fixed(1.005, 1) == "1.0");
  CHECK(fixed(-0.01, 1) == "0.0");
  CHECK(fixed(-0.06, 1) == "-0.1");
  CHECK(percent(0.031) == "3.1 %");
  CHECK(percent(1, 0) == "100 %");
}

TEST_CASE("split, trim and join") {
  CHECK(split("a,,b", ',') == std::vector<std::string>{"a", "", "b"});
  CHECK(split("", ',') == std::vector<std::string>{""});
  CHECK(split("a,", ',') == std::vector<std::string>{"a", ""});
  CHECK(trim(" \t a b\n") == "a b");
  CHECK(trim("  ").empty());
  CHECK(join(std::vector<std::string>{"a", "b", "c"}, ", ") == "a, b, c");
  CHECK(join({}, ", ").empty());
}

TEST_CASE("a word of a command is quoted where a shell would read something else") {
  for (const char* plain : {"4,8,512,64", "runs/a-b_c.json", "torch:flash", "ROWS=8", "60s"})
    CHECK(shell_word(plain) == plain);
  CHECK(shell_word("") == "''");
  CHECK(shell_word("my runs/best.json") == "'my runs/best.json'");
  CHECK(shell_word("it's") == R"('it'\''s')");
  CHECK(shell_word("~/runs") == "'~/runs'");
  CHECK(shell_word("größe") == "'größe'");
}

TEST_CASE("a shell reads a quoted word as it was") {
  for (const std::string text :
       {"", " a  b ", "it's", "''", R"($HOME `false` "\)", "*;&|<>#!", "größe", "two\nlines"}) {
    CAPTURE(text);
    const auto run =
        run_program({"/bin/sh", {"-c", "printf %s " + shell_word(text)}}, std::chrono::seconds(20));
    REQUIRE(run);
    CHECK(run->text == text);
  }
}

TEST_CASE("a number is the whole text") {
  CHECK(parse_integer("-42") == -42);
  CHECK(parse_integer("9223372036854775807") == INT64_MAX);
  for (const char* text : {"", "4x", " 4", "4 ", "+4", "4.0", "9223372036854775808", "-"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_integer(text));
  }
  CHECK(parse_number("0.95") == 0.95);
  CHECK(parse_number("1e3") == 1000);
  for (const char* text : {"", "x", "1.5 ", "inf", "nan", "1e999"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_number(text));
  }
}

TEST_CASE("a quoted text ends after 200 bytes, between characters") {
  CHECK(excerpt("short") == "short");
  CHECK(excerpt(std::string(201, 'a')) == std::string(200, 'a') + "...");
  CHECK(excerpt(std::string(199, 'a') + "\xc3\xa4") == std::string(199, 'a') + "...");
}

TEST_CASE("the nearest name is offered only when it is near") {
  const std::vector<std::string> names = {"exhaustive", "random", "ga", "BLOCK_M"};
  CHECK(nearest_name("randon", names) == "random");
  CHECK(nearest_name("exaustiv", names) == "exhaustive");
  CHECK(nearest_name("block_m", names) == "BLOCK_M");
  CHECK(nearest_name("gaa", names) == "ga");
  CHECK_FALSE(nearest_name("x", names));
  CHECK_FALSE(nearest_name("annealing", names));
  CHECK_FALSE(nearest_name("", names));
  const std::vector<std::string> long_names = {std::string(150, 'x')};
  CHECK_FALSE(nearest_name(std::string(149, 'x'), long_names));
}

TEST_CASE("a terminal gets our colours and nothing else that commands it") {
  CHECK(printable("a\tb\n\xfcred\xf8 \xc3\xa9 \xe2\x82\xac") ==
        "a\tb\n\x1b[31mred\x1b[0m \xc3\xa9 \xe2\x82\xac");
  CHECK(printable("\x1b[31mred") == "\\u001b[31mred");
  CHECK(printable("\x1b[2J\x1b]0;title\x07\r\x7f") ==
        "\\u001b[2J\\u001b]0;title\\u0007\\u000d\\u007f");
  CHECK(printable("\xc2\x9b"
                  "31m") == "\\u009b31m");
  CHECK(printable("\xe2\x80\xae"
                  "evil\xe2\x81\xa6") == "\\u202eevil\\u2066");
  CHECK(printable("\x1b[8mhidden") == "\\u001b[8mhidden");
}

TEST_CASE("text is cut between characters") {
  CHECK(head("a\xc3\xa9x", 2) == "a");
  CHECK(head("a\xc3\xa9x", 3) == "a\xc3\xa9");
  CHECK(head("abc", 9) == "abc");
  CHECK(head("\x80\x80\x80\x80\x80\x80", 5).size() == 2);  // no UTF-8
}

TEST_CASE("a file's name has no folder in it") {
  CHECK(file_name("fa_mma-4-8-512-64-f16.v2") == "fa_mma-4-8-512-64-f16.v2");
  CHECK(file_name("../../etc/x y") == "_.._.._etc_x_y");
  CHECK(file_name("/abs") == "_abs");
  CHECK(file_name("..") == "_..");
  CHECK(file_name("") == "_");
  CHECK(file_name(std::string(1000, 'a')).size() == 100);
}

TEST_CASE("display width counts columns") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("\xc2\xb5s") == 2);                 // micro sign
  CHECK(display_width("\xe2\x96\x88\xe2\x96\x91") == 2);  // blocks of a bar
  CHECK(display_width("\xe6\xbc\xa2") == 2);              // a wide character
  CHECK(display_width("e\xcc\x81") == 1);                 // combining accent
  CHECK(display_width("\xfaok\xf8") == 2);                // colour
  CHECK(display_width("\xe2\x96") == 1);                  // cut in the middle
}

TEST_CASE("text is wrapped at spaces and keeps its own lines") {
  using Lines = std::vector<std::string>;
  CHECK(wrap("four words of text", 10) == Lines{"four words", "of text"});
  CHECK(wrap("one\ntwo three", 6) == Lines{"one", "two", "three"});
  CHECK(wrap("unbreakable a", 4) == Lines{"unbreakable", "a"});
  CHECK(wrap("", 4) == Lines{""});
}
