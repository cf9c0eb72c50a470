// write_trace_set_test.cpp - checks the four objects of FlashInfer-Trace, and that their problems
// are read back.
#include <algorithm>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "core/json.hpp"
#include "model/interchange/trace_set.hpp"
#include "out/export/formats.hpp"
#include "support/captured_stderr.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;
using Catch::Matchers::ContainsSubstring;

namespace {

Timing median_of(double us) { return {.median_us = us}; }

ExportedKernel traced_kernel(const Problem& problem) {
  ExportedKernel kernel;
  kernel.name = export_name("fa_test", problem);
  KernelFacts& facts = kernel.facts;
  facts.kernel = "fa_test";
  facts.config = R"({"BLOCK_M":128})";
  facts.id = "0123456789abcdef";
  facts.problem = problem;
  facts.arch = "sm_90a";
  facts.verified = true;
  facts.device_name = "NVIDIA H200";
  facts.driver = "580.1";
  facts.nvrtc = "13.0";
  facts.fatune = "0.1.0";
  facts.command = "fatune sweep";
  facts.stages.emplace_back().entry = "fa_test";
  kernel.cubin = "ELF";
  kernel.source = "// text\n";
  ExportedResult& result = kernel.result.emplace();
  result.best.impl = "fatune:fa_test";
  result.best.hot = median_of(6);
  result.best.cold = median_of(8);
  result.best.verification = Verification{.passed = true, .margin = 0.5, .max_abs_diff = 0.001};
  result.best.verification->relative_l2 = 2e-4;
  result.baseline.emplace();
  result.baseline->impl = "cudnn";
  result.baseline->hot = median_of(7);
  result.baseline->cold = median_of(10);
  return kernel;
}

Problem problem_of_layout(const std::string& layout) {
  Problem problem{.batch = 2, .heads = 8, .kv_heads = 2, .seq_q = 100, .seq_kv = 300};
  problem.dtype = Dtype::kBf16;
  problem.mask = Mask::kCausal;
  problem.layouts = *parse_layouts(layout);
  return problem;
}

Json read_traced(const std::filesystem::path& path) {
  const auto json = load_json(path);
  INFO((json ? "" : json.error().message));
  REQUIRE(json);
  return *json;
}

constexpr Problem kTracedProblem{
    .batch = 4, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512};
const std::string kTracedName = "attention_b4_h8_q512_kv512_d64_f16";

}  // namespace

TEST_CASE("what is written is read as the same problems") {
  std::vector<ExportedKernel> kernels = {traced_kernel(kTracedProblem)};
  Problem causal = kTracedProblem;
  causal.mask = Mask::kCausal;
  for (const Problem& each : {causal, problem_of_layout("bhsd"), problem_of_layout("bshd"),
                              problem_of_layout("bhsd,k=bshd"), problem_of_layout("bshd,out=bhsd")})
    kernels.push_back(traced_kernel(each));
  const test::TemporaryFolder folder;
  const auto files = write_trace_set(kernels, folder.path());
  INFO((files ? "" : files.error().message));
  REQUIRE(files);
  CHECK(files->size() == 4 * kernels.size());
  const auto suite = load_trace_set(folder.path());
  INFO((suite ? "" : suite.error().message));
  REQUIRE(suite);
  REQUIRE(suite->problems.size() == kernels.size());
  for (const ExportedKernel& kernel : kernels) {
    const auto same = [&](const NamedProblem& each) {
      return each.problem == kernel.facts.problem;
    };
    CAPTURE(kernel.name);
    CHECK(std::ranges::count_if(suite->problems, same) == 1);
  }
}

TEST_CASE("a solution binds the machine code, checks its tensors and launches once") {
  const test::TemporaryFolder folder;
  ExportedKernel kernel = traced_kernel(problem_of_layout("bshd"));
  kernel.facts.scratch.push_back({"partial", 1024});
  REQUIRE(write_trace_set(std::vector{kernel}, folder.path()));
  const std::string name = "attention_b2_h8_kvh2_q100_kv300_d64_bf16_causal_bshd";
  const Json solution =
      read_traced(folder / "solutions/attention" / name / "fa_test_sm_90a_01234567.json");
  CHECK(solution["definition"] == name);
  CHECK(solution["name"] == "fa_test_sm_90a_01234567");
  CHECK(dump(solution["spec"]) ==
        R"({"language":"cuda","target_hardware":["NVIDIA H200"],"entry_point":"main.cu::run",)"
        R"("dependencies":[],"destination_passing_style":true,"binding":"tvm-ffi"})");
  REQUIRE(solution["sources"].size() == 3);
  const std::string main = solution["sources"][0]["content"];
  CHECK(solution["sources"][0]["path"] == "main.cu");
  CHECK(solution["sources"][1]["path"] == kernel.name + ".h");
  CHECK(solution["sources"][2]["content"] == kernel.source);
  CHECK_THAT(main, ContainsSubstring("#include \"" + kernel.name + ".h\""));
  CHECK_THAT(main, ContainsSubstring("pointer(q, \"q\", {2, 100, 8, 64})"));
  CHECK_THAT(main, ContainsSubstring("pointer(k, \"k\", {2, 300, 2, 64})"));
  CHECK_THAT(main, ContainsSubstring("type.code == kDLBfloat && type.bits == 16"));
  CHECK_THAT(main, ContainsSubstring("_scratch_bytes(), stream)"));
  CHECK_THAT(main, !ContainsSubstring("@"));
}

TEST_CASE("a trace has cold times, the baseline's and what was checked") {
  const test::TemporaryFolder folder;
  REQUIRE(write_trace_set(std::vector{traced_kernel(kTracedProblem)}, folder.path()));
  const Json trace =
      read_traced(folder / "traces/attention" / kTracedName / "fa_test_sm_90a_01234567.jsonl");
  CHECK(trace["definition"] == kTracedName);
  CHECK(trace["solution"] == "fa_test_sm_90a_01234567");
  CHECK(trace["workload"] ==
        read_traced(folder / "workloads/attention" / (kTracedName + ".jsonl"))["workload"]);
  const Json& evaluation = trace["evaluation"];
  CHECK(evaluation["status"] == "PASSED");
  CHECK(dump(evaluation["performance"]) ==
        R"({"latency_ms":0.008,"reference_latency_ms":0.01,"speedup_factor":1.25})");
  CHECK(evaluation["correctness"]["max_absolute_error"] == 0.001);
  CHECK(evaluation["correctness"]["max_relative_error"] == "NaN");
  CHECK(evaluation["correctness"]["extra"]["relative_l2"] == 2e-4);
  CHECK(evaluation["environment"]["hardware"] == "NVIDIA H200");
  const std::string log = evaluation["log"];
  CHECK_THAT(log, ContainsSubstring("the L2 cache flushed before each"));
  CHECK_THAT(log, ContainsSubstring("reference_latency_ms: cudnn"));
  CHECK_THAT(log, ContainsSubstring("hot: 6 us"));
}

TEST_CASE("without cold times of both a trace has the next that both have") {
  const test::TemporaryFolder folder;
  ExportedKernel kernel = traced_kernel(kTracedProblem);
  kernel.result->baseline->cold.reset();
  REQUIRE(write_trace_set(std::vector{kernel}, folder.path()));
  const Json trace =
      read_traced(folder / "traces/attention" / kTracedName / "fa_test_sm_90a_01234567.jsonl");
  CHECK(trace["evaluation"]["performance"]["latency_ms"] == 0.006);
  CHECK_THAT(trace["evaluation"]["log"].get<std::string>(),
             ContainsSubstring("back to back, chained"));
}

TEST_CASE("what is not known to be right has no trace") {
  for (const int which : {0, 1, 2}) {
    ExportedKernel kernel = traced_kernel(kTracedProblem);
    if (which == 0) kernel.facts.verified = false;
    if (which == 1) kernel.facts.recorded = true;
    if (which == 2) kernel.result.reset();
    const test::TemporaryFolder folder;
    std::size_t written = 0;
    const std::string words = test::captured_stderr([&] {
      const auto files = write_trace_set(std::vector{kernel}, folder.path());
      written = files ? files->size() : 0;
    });
    CHECK(written == 3);
    CHECK_THAT(words, ContainsSubstring("has no trace: "));
    CHECK_FALSE(std::filesystem::exists(folder / "traces"));
  }
}

TEST_CASE("what the format has no place for is refused by name") {
  const test::TemporaryFolder folder;
  const auto fault = [&](const Problem& problem) {
    const auto files = write_trace_set(std::vector{traced_kernel(problem)}, folder.path());
    return files ? "none" : files.error().message;
  };
  Problem lse = kTracedProblem;
  lse.lse = true;
  CHECK_THAT(fault(lse), ContainsSubstring("log-sum-exp"));
  Problem packed = kTracedProblem;
  packed.layouts = *parse_layouts("packed");
  CHECK_THAT(fault(packed), ContainsSubstring("q is no contiguous tensor"));
  Problem custom;
  custom.custom = CustomProblem{.operation = "rmsnorm", .sizes = {{"ROWS", 4}}};
  CHECK_THAT(fault(custom), ContainsSubstring("cannot be written in PyTorch"));
}
