// nvrtc_test.cpp: Checks how a compiler's errors are condensed to one line.
#include "worker/compile/nvrtc.hpp"

#include <catch2/catch_test_macros.hpp>

#include "support/pool_fixture.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;

TEST_CASE("the first error of a log is found in each of its forms") {
  CHECK(first_error("x.cu(1): error: identifier \"unknown\" is undefined\n  unknown(p);\n  ^\n\n"
                    "x.cu(1): warning #177-D: variable \"x\" was declared but never referenced\n"
                    "1 error detected in the compilation of \"x.cu\".\n") ==
        "x.cu(1): error: identifier \"unknown\" is undefined");
  CHECK(first_error("ptxas application ptx input, line 23; error   : Not a name of any known "
                    "instruction: 'bogus'\nptxas fatal   : Ptx assembly aborted due to errors\n") ==
        "ptxas application ptx input, line 23; error   : Not a name of any known instruction: "
        "'bogus'");
  CHECK(first_error("ptxas fatal   : Ptx assembly aborted due to errors\n") ==
        "ptxas fatal   : Ptx assembly aborted due to errors");
  CHECK(first_error("nvrtc: error: unrecognized option --bogus found\n") ==
        "nvrtc: error: unrecognized option --bogus found");
  CHECK(first_error("ptxas info    : 0 bytes gmem\n").empty());
}

TEST_CASE("a missing header has a remedy that was not taken yet") {
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder.path());
  CompileRequest request = test::request("x", "#include <nowhere.h>\n");
  CHECK(pool.compile(request)->problem.find("needs_toolkit_headers") != std::string::npos);
  if (pool.toolchain().include_folders.empty()) return;
  request.toolkit_headers = true;
  CHECK(pool.compile(request)->problem.find("headers of the host") != std::string::npos);
}

TEST_CASE("a template is instantiated by its name, in which macros stand") {
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder.path());
  CompileRequest request = test::request(
      "x", "template <int n, typename T> __global__ void k(T* x) { x[threadIdx.x] = n; }");
  request.macros = {"BLOCK=128"};
  request.instances = {"k<BLOCK, float>"};
  const auto compiled = pool.compile(request);
  REQUIRE(compiled);
  CHECK(compiled->problem.empty());
  CHECK(compiled->entries.size() == 1);
  REQUIRE(compiled->resources_of("k<BLOCK, float>") != nullptr);
  CHECK(compiled->resources_of("k<BLOCK, float>")->registers > 0);
  request.instances = {"k<BLOCKS, float>"};
  CHECK(pool.compile(request)->problem ==
        "entry k<BLOCKS, float>: error: identifier \"BLOCKS\" is undefined");
}

TEST_CASE("options of a manifest change the machine code") {
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder.path());
  CompileRequest request =
      test::request("x", "extern \"C\" __global__ void k(float* x) { *x = sinf(*x) / SIZE; }");
  request.options = {"-DSIZE=3.f"};
  const auto usual = pool.compile(request);
  request.options.emplace_back("-use_fast_math");
  const auto fast = pool.compile(request);
  REQUIRE((usual && fast));
  CHECK((usual->ok && fast->ok && usual->cubin_hash != fast->cubin_hash));
  request.source.text = "static_assert(__cplusplus == 202002L);" + request.source.text;
  CHECK_FALSE(pool.compile(request)->ok);
  request.options.emplace_back("-std=c++20");
  CHECK(pool.compile(request)->problem.empty());
}

TEST_CASE("an unroll factor of 0 leaves the choice to the compiler, as no pragma does") {
  const test::TemporaryFolder folder;
  CompilePool pool = test::real_pool(folder.path());
  const auto code = [&](const std::string& pragma, const std::string& factor) {
    CompileRequest request =
        test::request("x", "extern \"C\" __global__ void k(float* x) { float s = 0;\n" + pragma +
                               "\nfor (int i = 0; i < 100; ++i) s += x[i];\nx[threadIdx.x] = s; }");
    request.macros = {"FACTOR=" + factor};
    const auto compiled = pool.compile(request);
    REQUIRE(compiled);
    REQUIRE(compiled->problem.empty());
    return compiled->cubin_hash;
  };
  CHECK(code("#pragma unroll FACTOR", "0") == code("", "0"));
  CHECK(code("#pragma unroll FACTOR", "1") != code("", "1"));
}

TEST_CASE("a target that the compiler does not know is named with those it does") {
  CHECK(unsupported_arch({90, 'a'}, "12.4", {50, 90}).empty());
  const std::string problem = unsupported_arch({120, 0}, "12.4", {50, 90});
  CHECK(problem.find("NVRTC 12.4 cannot compile for sm_120 (it knows 50, 90)") == 0);
  CHECK(problem.find("--nvrtc") != std::string::npos);
}

TEST_CASE("without a compiler the error lists every place tried") {
  Toolchain toolchain;
  toolchain.nvrtc = {"/no/such/libnvrtc.so.13", "libfatune-no-such.so"};
  const auto nvrtc = Nvrtc::open(toolchain);
  REQUIRE_FALSE(nvrtc);
  CHECK(nvrtc.error().kind == ErrorKind::kEnvironment);
  CHECK(nvrtc.error().message.find("/no/such/libnvrtc.so.13") != std::string::npos);
  CHECK(nvrtc.error().message.find("libfatune-no-such.so") != std::string::npos);
  CHECK(nvrtc.error().message.find("--nvrtc") != std::string::npos);
}

TEST_CASE("a library that is no compiler is told apart") {
  Toolchain toolchain;
  toolchain.nvrtc = {"libc.so.6"};
  const auto nvrtc = Nvrtc::open(toolchain);
  REQUIRE_FALSE(nvrtc);
  CHECK(nvrtc.error().message.find("libc.so.6: it lacks nvrtcVersion") != std::string::npos);
}
