// write_kernel_launcher_test.cpp: Tests wisdom files of kernel_launcher line by line.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "core/file.hpp"
#include "export/formats.hpp"
#include "support/captured_stderr.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;
using Catch::Matchers::ContainsSubstring;

namespace {

ExportedKernel exported(const Attention& problem, double us) {
  ExportedKernel kernel;
  kernel.name = "fa_test_" + key(problem);
  kernel.facts.kernel = "fa_test";
  kernel.facts.config = R"({"BLOCK_M":128,"PRODUCER":"warp","PINGPONG":true})";
  kernel.facts.id = "0123456789abcdef";
  kernel.facts.problem = problem;
  kernel.facts.verified = true;
  if (us > 0) kernel.facts.measured.emplace().hot_us = us;
  kernel.facts.device_name = "NVIDIA H200";
  kernel.facts.fatune = "0.1.0";
  kernel.facts.command = "fatune sweep";
  return kernel;
}

const Attention kLongKeys{.batch = 4, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 1024};

}  // namespace

TEST_CASE("a file has a header line, then a line for each problem") {
  const test::TemporaryFolder folder;
  Attention larger = kLongKeys;
  larger.batch = 8;
  const auto files = write_kernel_launcher(
      std::vector{exported(kLongKeys, 6.25), exported(larger, 12)}, folder.path());
  REQUIRE(files);
  REQUIRE(files->size() == 1);
  CHECK(files->front() == folder / "fa_test-d64-f16.wisdom");
  CHECK(*read_file(files->front()) ==
        R"({"version":"1.0","key":"fa_test-d64-f16","objective":"time",)"
        R"("tunable_parameters":["BLOCK_M","PRODUCER","PINGPONG"]})"
        "\n"
        R"({"config":[128,"warp",true],"problem_size":[512,1024,32],"time":0.00625,)"
        R"("environment":{"device_name":"NVIDIA H200","fatune_version":"0.1.0",)"
        R"("fatune_id":"0123456789abcdef","fatune_problem":{"batch":4,"heads":8,"kv_heads":8,)"
        R"("seq_q":512,"seq_kv":1024,"head_dim":64,"dtype":"f16","mask":"none"},)"
        R"("fatune_verified":true,"fatune_recorded":false,"fatune_command":"fatune sweep"}})"
        "\n"
        R"({"config":[128,"warp",true],"problem_size":[512,1024,64],"time":0.012,)"
        R"("environment":{"device_name":"NVIDIA H200","fatune_version":"0.1.0",)"
        R"("fatune_id":"0123456789abcdef","fatune_problem":{"batch":8,"heads":8,"kv_heads":8,)"
        R"("seq_q":512,"seq_kv":1024,"head_dim":64,"dtype":"f16","mask":"none"},)"
        R"("fatune_verified":true,"fatune_recorded":false,"fatune_command":"fatune sweep"}})"
        "\n");
}

TEST_CASE("what a template is compiled for besides sizes is in the file's name") {
  const test::TemporaryFolder folder;
  const Attention other{.heads = 8,
                        .kv_heads = 2,
                        .head_dim = 128,
                        .dtype = Dtype::kBf16,
                        .mask = Mask::kCausal,
                        .lse = true};
  const auto files =
      write_kernel_launcher(std::vector{exported(kLongKeys, 1), exported(other, 1)}, folder.path());
  REQUIRE(files);
  REQUIRE(files->size() == 2);
  CHECK(files->front() == folder / "fa_test-d128-bf16-causal-g4-lse.wisdom");
  Attention strided = kLongKeys;
  strided.layouts = *parse_layouts("bshd,q=524288:64:1024");
  const auto laid = write_kernel_launcher(std::vector{exported(strided, 1)}, folder.path());
  REQUIRE(laid);
  CHECK(laid->front() == folder / "fa_test-d64-f16-bshd-q-524288-64-1024.wisdom");
}

TEST_CASE("a kernel that was not measured is left out, and none at all is an error") {
  const test::TemporaryFolder folder;
  const std::string text = test::captured_stderr([&] {
    CHECK(write_kernel_launcher(std::vector{exported(kLongKeys, 0), exported(kLongKeys, 1)},
                                folder.path()));
  });
  CHECK_THAT(text, ContainsSubstring("was not measured"));
  const auto nothing = write_kernel_launcher(std::vector{exported(kLongKeys, 0)}, folder.path());
  REQUIRE_FALSE(nothing);
  CHECK_THAT(nothing.error().message, ContainsSubstring("no kernel was measured"));
}

TEST_CASE("a file's name has no run-time size") {
  const test::TemporaryFolder folder;
  ExportedKernel kernel = exported(kLongKeys, 6.25);
  kernel.facts.problem = CustomProblem{
      .operation = "rows", .sizes = {{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"n", 1000003}}};
  kernel.facts.runtime_sizes = {"n"};
  const auto files = write_kernel_launcher(std::vector{kernel}, folder.path());
  REQUIRE(files);
  CHECK(files->front() == folder / "fa_test-d4.wisdom");
}
