// kernel_test.cpp: Checks how kernels load from template trees: discovery, includes, identity,
// errors.
#include "model/kernel/kernel.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include "core/file.hpp"
#include "support/sample_kernel.hpp"
#include "support/temporary_folder.hpp"

namespace fatune {
namespace {

const std::string kGood(kSampleManifest);

std::string with_toolkit() {
  return sample_with("\"needs_toolkit_headers\": false", "\"needs_toolkit_headers\": true");
}

std::string load_error(const SourceTree& tree) {
  const auto kernels = load_kernels(tree);
  return kernels ? "" : kernels.error().message;
}

TEST_CASE("headers are collected through other headers, once and sorted") {
  const auto kernels =
      load_kernels({{"common/a.cuh", "#include \"common/b.cuh\"\n#pragma once\n"},
                    {"common/b.cuh", "  #  include   \"common/a.cuh\" // cycle\n"},
                    {"common/unused.cuh", "int x;\n"},
                    {"f/sample.cu", "#include <mma.h>\n#include \"common/b.cuh\"\n"},
                    {"f/sample.json", with_toolkit()}});
  INFO((kernels ? "" : kernels.error().message));
  REQUIRE(kernels);
  REQUIRE(kernels->size() == 1);
  const Kernel& kernel = *kernels->front();
  CHECK(kernel.manifest.where == "f/sample.json");
  CHECK(kernel.source.path == "f/sample.cu");
  REQUIRE(kernel.headers.size() == 2);
  CHECK(kernel.headers[0].path == "common/a.cuh");
  CHECK(kernel.headers[1].path == "common/b.cuh");
  CHECK(kernel.text_hash.size() == 64);
}

TEST_CASE("the hash follows source and included headers, and nothing else") {
  const auto hash = [](std::string source, std::string header, std::string unused) {
    const auto kernels = load_kernels({{"a.cuh", std::move(header)},
                                       {"b.cuh", std::move(unused)},
                                       {"sample.cu", "#include \"a.cuh\"\n" + source},
                                       {"sample.json", kGood}});
    REQUIRE(kernels);
    return kernels->front()->text_hash;
  };
  const std::string base = hash("x", "y", "z");
  CHECK(hash("x", "y", "z") == base);
  CHECK(hash("x", "y", "other") == base);
  CHECK(hash("x2", "y", "z") != base);
  CHECK(hash("x", "y2", "z") != base);
}

TEST_CASE("an include that is missing is named with file and line") {
  CHECK(load_error({{"sample.cu", "\n#include \"common/gone.cuh\"\n"}, {"sample.json", kGood}}) ==
        "sample.cu:2: #include \"common/gone.cuh\" is not in the kernel tree (a header of the CUDA "
        "toolkit needs \"needs_toolkit_headers\": true in sample.json)");
  CHECK(
      load_error({{"f/sample.cu", "#include \"part.cuh\"\n"},
                  {"f/part.cuh", ""},
                  {"f/sample.json", kGood}}) ==
      "f/sample.cu:1: #include \"part.cuh\" must be written from the tree's root: \"f/part.cuh\"");
}

TEST_CASE("comments hold no includes, and toolkit headers are left to the compiler") {
  const std::string text = "// #include \"x.cuh\"\n/*\n#include \"y.cuh\"\n*/\n#include <z.h>\n";
  CHECK(load_error({{"sample.cu", text}, {"sample.json", with_toolkit()}}).empty());
  CHECK(load_error({{"sample.cu", text}, {"sample.json", kGood}}) ==
        "sample.cu:5: #include <z.h> is not in the kernel tree (a header of the CUDA toolkit needs "
        "\"needs_toolkit_headers\": true in sample.json)");
}

TEST_CASE(
    "a header of the tree stands for one of the toolkit, whose other headers it may include") {
  const auto kernels = load_kernels({{"cub/cub.cuh", "#include <cub/block/block_scan.cuh>\n"},
                                     {"sample.cu", "#include <cub/cub.cuh>\n"},
                                     {"sample.json", with_toolkit()}});
  REQUIRE(kernels);
  REQUIRE(kernels->front()->headers.size() == 1);
  CHECK(kernels->front()->headers.front().path == "cub/cub.cuh");
}

TEST_CASE("only files of the tree and of the toolkit's folders are included") {
  const auto error = [](const std::string& line) {
    return load_error({{"sample.cu", line + "\n"}, {"sample.json", with_toolkit()}});
  };
  CHECK(error("#include \"cuda_fp16.h\"") ==
        "sample.cu:1: #include \"cuda_fp16.h\" is not in the kernel tree; write a header of the "
        "CUDA toolkit as <cuda_fp16.h>");
  for (const char* name : {"/etc/passwd", "../x.h", "crt/../../x.h"}) {
    CHECK(error(fmt::format("#include <{}>", name)) ==
          fmt::format("sample.cu:1: #include <{}> is no header of the CUDA toolkit, but a file "
                      "beside it",
                      name));
  }
  for (const char* line :
       {"#define X \"/etc/passwd\"\n#include X", "%:include <x.h>", "#include/**/<x.h>",
        "/**/#include <x.h>", "#inc\\\nlude <x.h>", "#inc\\\r\nlude <x.h>", "#include_next <x.h>",
        "/*\n*/ #include <x.h>", "#include \\\n<x.h>", "#import <x.h>"}) {
    CAPTURE(line);
    CHECK(error(line).find("an include is written as #include \"NAME\"") != std::string::npos);
  }
}

TEST_CASE("manifests are found by schema, and by their template") {
  const auto kernels = load_kernels({{"notes.json", R"({"schema": "something/1"})"},
                                     {"list.json", "[1, 2]"},
                                     {"other.cu", ""},
                                     {"renamed.json", sample_with("sample.cu", "other.cu")}});
  INFO((kernels ? "" : kernels.error().message));
  REQUIRE(kernels);
  CHECK(kernels->size() == 1);
  CHECK(load_error({{"sample.cu", ""}, {"sample.json", sample_with("\"schema\"", "\"shema\"")}}) ==
        "sample.json: field 'shema' is unknown; did you mean 'schema'?");
  CHECK(load_error({{"broken.json", "{"}}).starts_with("broken.json: not valid JSON at column "));
}

TEST_CASE("a missing source and a name used twice are errors") {
  CHECK(load_error({{"f/sample.json", kGood}}) ==
        "f/sample.json: field 'source' is 'sample.cu', but there is no file f/sample.cu");
  CHECK(load_error({{"a/sample.cu", ""},
                    {"a/sample.json", kGood},
                    {"b/sample.cu", ""},
                    {"b/sample.json", kGood}}) ==
        "b/sample.json: field 'name' is 'sample', which a/sample.json has already");
}

TEST_CASE("a folder is read recursively, kernels only") {
  const test::TemporaryFolder folder;
  REQUIRE(make_directories(folder.path() / "f"));
  REQUIRE(replace_file(folder.path() / "f" / "sample.cu", kSampleSource));
  REQUIRE(replace_file(folder.path() / "f" / "sample.json", kSampleManifest));
  REQUIRE(replace_file(folder.path() / "f" / "notes.md", "words"));
  const auto tree = load_source_tree(folder.path());
  REQUIRE(tree);
  REQUIRE(tree->size() == 2);
  CHECK((*tree)[0].path == "f/sample.cu");
  CHECK(load_error(*tree).empty());
  CHECK(load_source_tree(folder.path() / "gone")
            .error()
            .message.ends_with("gone: is not a folder with kernels"));
}

}  // namespace
}  // namespace fatune
