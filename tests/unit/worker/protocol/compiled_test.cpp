// compiled_test.cpp: Checks resources read from logs that NVRTC 13.0.88 and 12.x wrote.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "worker/protocol/compilation.hpp"

using namespace fatune;

namespace {

constexpr const char* kClean = R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 1 barriers, 256 bytes smem
ptxas info    : Compile time = 2.186 ms
)";

constexpr const char* kSpills =
    R"(ptxas warning : Local memory used for function 'st', size of stack frame: 256 bytes
ptxas warning : Local memory used for function 'sp', size of stack frame: 272 bytes
ptxas warning : Registers are spilled to local memory in function 'sp', 492 bytes spill stores, 492 bytes spill loads
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z1tILi3EEvPf' for 'sm_90a'
ptxas info    : Function properties for _Z1tILi3EEvPf
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
ptxas info    : Compile time = 1.319 ms
ptxas info    : Compiling entry function 'st' for 'sm_90a'
ptxas info    : Function properties for st
ptxas         .     256 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 30 registers, used 0 barriers, 256 bytes cumulative stack size
ptxas info    : Compile time = 22.273 ms
ptxas info    : Compiling entry function 'sp' for 'sm_90a'
ptxas info    : Function properties for sp
ptxas         .     272 bytes stack frame, 492 bytes spill stores, 500 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers, 272 bytes cumulative stack size
ptxas info    : Compile time = 24.339 ms
)";

constexpr const char* kOlder = R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_80'
ptxas info    : Function properties for k
    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 40 registers, 1024 bytes smem, 360 bytes cmem[0]
)";

}  // namespace

TEST_CASE("a lack of memory is not the kernel's fault") {
  Compiled failed;
  failed.log = "x";
  for (const char* problem :
       {"ptxas fatal   : Ptx assembly aborted due to errors", "catastrophic error: out of memory",
        "NVRTC_ERROR_OUT_OF_MEMORY without a message"}) {
    failed.problem = problem;
    CHECK(is_of_a_machine(failed));
  }
  failed.problem = "a.cu(1): error: identifier \"x\" is undefined";
  CHECK_FALSE(is_of_a_machine(failed));
}

TEST_CASE("registers and shared memory are read from a log") {
  const auto entries = parse_compile_log(kClean);
  REQUIRE(entries.size() == 1);
  const Resources& k = entries.at("k");
  CHECK(k.registers == 10);
  CHECK(k.static_shared_bytes == 256);
  CHECK(k.stack_bytes == 0);
  CHECK(k.spill_store_bytes == 0);
  CHECK(k.warnings.empty());
}

TEST_CASE("spills, stack frames and their warnings go to the entry they are about") {
  const auto entries = parse_compile_log(kSpills);
  REQUIRE(entries.size() == 3);
  CHECK(entries.at("_Z1tILi3EEvPf").registers == 8);
  CHECK(entries.at("_Z1tILi3EEvPf").warnings.empty());
  CHECK(entries.at("st").stack_bytes == 256);
  CHECK(entries.at("st").spill_store_bytes == 0);
  CHECK(entries.at("st").warnings ==
        std::vector<std::string>{
            "Local memory used for function 'st', size of stack frame: 256 bytes"});
  const Resources& sp = entries.at("sp");
  CHECK(sp.registers == 32);
  CHECK(sp.stack_bytes == 272);
  CHECK(sp.spill_store_bytes == 492);
  CHECK(sp.spill_load_bytes == 500);
  CHECK(sp.warnings.size() == 2);
}

TEST_CASE("the log of an older compiler is read too") {
  const auto entries = parse_compile_log(kOlder);
  REQUIRE(entries.size() == 1);
  const Resources& k = entries.at("k");
  CHECK(k.registers == 40);
  CHECK(k.static_shared_bytes == 1024);
  CHECK(k.stack_bytes == 8);
  CHECK(k.spill_store_bytes == 4);
  CHECK(k.spill_load_bytes == 12);
}

TEST_CASE("notes on serialised wgmma are kept") {
  const std::string log = std::string(
                              "ptxas info    : (C7510) Potential Performance Loss: "
                              "wgmma.mma_async instructions are serialized due to the "
                              "presence of Extern calls in the function 'k'\n") +
                          kClean;
  const auto entries = parse_compile_log(log);
  REQUIRE(entries.at("k").warnings.size() == 1);
  CHECK(entries.at("k").warnings[0].starts_with("(C7510) Potential Performance Loss"));
}

TEST_CASE("an empty or strange log has no entries") {
  CHECK(parse_compile_log("").empty());
  CHECK(parse_compile_log("x.cu(1): error: identifier \"unknown\" is undefined\n").empty());
  CHECK(parse_compile_log("ptxas info    : Compiling entry function 'k").empty());
}

TEST_CASE("numbers of a log that no compiler prints do not add up to anything") {
  const std::string line = "0 bytes stack frame, 9223372036854775807 bytes spill stores\n";
  const auto entries = parse_compile_log(
      "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n" + line + line);
  CHECK(entries.at("k").spill_store_bytes == 0);
}
