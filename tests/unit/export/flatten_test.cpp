// flatten_test.cpp: Tests includes in place: written once, repeated, or guarded below conditions.
#include <catch2/catch_test_macros.hpp>

#include "export/export_kernel.hpp"

using namespace fatune;

namespace {

Kernel kernel_of(const std::string& text, std::vector<SourceFile> headers) {
  Kernel kernel;
  kernel.source = {"test/test.cu", text};
  kernel.headers = std::move(headers);
  return kernel;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

}  // namespace

TEST_CASE("macros stand first, headers where they are included") {
  const auto text = flatten(kernel_of("#include \"b.cuh\"\nint c;\n",
                                      {{"a.cuh", "#pragma once\nint a;\n"},
                                       {"b.cuh", "#pragma once\n#include \"a.cuh\"\nint b;\n"}}),
                            {"BLOCK_M=128", "FLAG"});
  REQUIRE(text);
  CHECK(text->starts_with("#define BLOCK_M 128\n#define FLAG\n"));
  CHECK(text->find("int a;") < text->find("int b;"));
  CHECK(text->find("int b;") < text->find("int c;"));
  CHECK(count(*text, "#include") == 0);
  CHECK(count(*text, "pragma once") == 0);
}

TEST_CASE("a header with #pragma once stands once, another as often as it is included") {
  const std::string twice = "#include \"a.cuh\"\n#include \"a.cuh\"\n";
  const auto once = flatten(kernel_of(twice, {{"a.cuh", "#pragma once\nint a;\n"}}), {});
  REQUIRE(once);
  CHECK(count(*once, "int a;") == 1);
  const auto told = flatten(kernel_of(twice, {{"a.cuh", "# pragma once // a's\nint a;\n"}}), {});
  REQUIRE(told);
  CHECK(count(*told, "int a;") == 1);
  CHECK(count(*told, "pragma") == 0);
  const auto again = flatten(kernel_of(twice, {{"a.cuh", "X(a)\n"}}), {});
  REQUIRE(again);
  CHECK(count(*again, "X(a)") == 2);
}

TEST_CASE("below a condition the preprocessor decides which of two includes counts") {
  const auto text = flatten(kernel_of("#if X\n#include \"a.cuh\"\n#endif\n#include \"a.cuh\"\n",
                                      {{"a.cuh", "#pragma once\nint a;\n"}}),
                            {});
  REQUIRE(text);
  CHECK(count(*text, "int a;") == 2);
  CHECK(count(*text, "#ifndef FATUNE_A_CUH") == 2);
  CHECK(count(*text, "#define FATUNE_A_CUH") == 2);
}

TEST_CASE("toolkit headers and includes in comments stay as they are") {
  const auto text = flatten(
      kernel_of("#include <mma.h>\n/*\n#include \"a.cuh\"\n*/\n", {{"a.cuh", "int a;\n"}}), {});
  REQUIRE(text);
  CHECK(count(*text, "#include <mma.h>") == 1);
  CHECK(count(*text, "#include \"a.cuh\"") == 1);
  CHECK(count(*text, "int a;") == 0);
}

TEST_CASE("a header that includes itself is an error that names it") {
  const auto text =
      flatten(kernel_of("#include \"a.cuh\"\n", {{"a.cuh", "#include \"a.cuh\"\n"}}), {});
  REQUIRE_FALSE(text);
  CHECK(text.error().message.find("a.cuh: includes itself") != std::string::npos);
}
