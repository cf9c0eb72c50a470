// includes_test.cpp: Checks that includes, comments and literals are told apart as NVRTC 13.0 does.
#include "model/kernel/includes.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

using namespace fatune;

namespace {

/// "2<mma.h> 4!": line, name, and ! for one that is not plain.
std::string seen(std::string_view text) {
  std::string found;
  for (const Include& each : includes_of(text)) {
    found += found.empty() ? "" : " ";
    found += each.name.empty() ? fmt::format("{}!", each.line)
             : each.quoted     ? fmt::format("{}\"{}\"", each.line, each.name)
                               : fmt::format("{}<{}>", each.line, each.name);
  }
  return found;
}

}  // namespace

TEST_CASE("plain includes are found with their lines") {
  CHECK(seen("#include <a.h>\n\n \t# include  \"b/c.cuh\" // why\n") == "1<a.h> 3\"b/c.cuh\"");
  CHECK(seen("#include <a.h>\r\n#include \"b.h\"\r\n") == "1<a.h> 2\"b.h\"");
  CHECK(seen("int x;\n#pragma once\n#if 0\n#include <a.h>\n#endif") == "4<a.h>");
  CHECK(seen("\f#include <a.h>") == "1<a.h>");
}

TEST_CASE("comments and literals hold none") {
  CHECK(seen("// #include <a.h>\n/* \n#include <b.h>\n*/\n// \\\n#include <c.h>\n").empty());
  CHECK(seen("auto s = R\"x(\n#include <a.h>\n)\" )x\";\n").empty());
  CHECK(seen("auto s = \"\\\n#include <a.h>\";").empty());
}

TEST_CASE("what only looks like a comment or a literal hides none") {
  for (const char* before :
       {"auto s = \"/*\";", "char c = '\"'; /*'*/", "int a = 1'000; /*'*/", "don't /*",
        "auto s = fooR\"(\";", "auto s = \"\\\"/*\";", "auto c = L'\"'; auto s = \"/*\";",
        "auto s = R\"(\n/* )\";", "auto s = u8R\"(/*)\";", "auto s = \"\"R\"(/*\";", "// x \\ ",
        "const char* s = \"unfinished /*", "/* // */", "//*", "#define A 1'/*'",
        "#define A 1'\"' \"/*\"", "#define A 'a'R\"(\""}) {
    CAPTURE(before);
    const std::string text = std::string(before) + "\n#include <a.h>\n";
    CHECK(seen(text).ends_with("<a.h>"));
  }
}

TEST_CASE("an include in disguise is not plain") {
  CHECK(seen("#include X") == "1!");
  CHECK(seen("x\n%:include <a.h>") == "2!");
  CHECK(seen("/**/ #include <a.h>") == "1!");
  CHECK(seen("#/**/include <a.h>") == "1!");
  CHECK(seen("#inc\\\nlude <a.h>") == "1!");
  CHECK(seen("\\\n#include <a.h>") == "2<a.h>");
  CHECK(seen("#include_next <a.h>") == "1!");
  CHECK(seen("#import <a.h>") == "1!");
  CHECK(seen("#include <a.h") == "1!");
  CHECK(seen("#include") == "1!");
  CHECK(seen("/*\n*/#include <a.h>") == "2!");
}

TEST_CASE("a compiler that goes on behind an error finds no include that nobody counted") {
  for (const char* text :
       {"/*\n#include <a.h>\n*/", "R\"(\n#include <a.h>\n)\"", "// x */ %:include <a.h>",
        "#/**/define X", "#embed \"a\"", "\"/*\"\n \t# include <a.h>"}) {
    CAPTURE(text);
    CHECK(possible_includes(text) == 1);
  }
  for (const char* text :
       {"// #include <a.h>", "int a; #include <a.h>", "#define include", "# if 0"})
    CHECK(possible_includes(text) == 0);
  CHECK(spliced("#inc\\\nlude\\\r\n <a>\\ \n") == "#include <a>\\ \n");
}
