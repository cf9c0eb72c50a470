// preparation_test.cpp: Checks the compilations for a worker, and the refusal of large problems.
#include "tune/evaluate/preparation.hpp"

#include <algorithm>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "support/evaluate_fakes.hpp"
#include "support/problem_text.hpp"
#include "tune/evaluate/device_evaluator.hpp"
#include "tune/evaluate/forecast.hpp"

using namespace fatune;
using namespace fatune::test;

namespace {

const PreparationSetting kSetting{tiled_kernel("naive", "reference"),
                                  *typical_limits(Arch{90, 'a'}), 10};

}  // namespace

TEST_CASE("reference and low-precision reference are compiled for one head, checks beside them") {
  FakeCompiler compiler;
  const Attention problem{.batch = 4, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512};
  const auto pending = request_problem(compiler, kSetting, problem, search_cases(problem, 42));
  REQUIRE(pending);
  REQUIRE(compiler.requests.size() == 3);
  CHECK(has_macro(compiler.requests[0], "OUT_F32=1"));
  CHECK(has_macro(compiler.requests[0], "BATCH=1"));
  CHECK(has_macro(compiler.requests[0], "HEADS=1"));
  CHECK(has_macro(compiler.requests[0], "SEQ_Q=512"));
  CHECK(has_macro(compiler.requests[1], "ROUND_INTERMEDIATES=1"));
  CHECK(compiler.requests[2].source.text.find("check_pattern") != std::string::npos);
  const auto order = finish_problem(compiler, *pending);
  REQUIRE(order);
  CHECK(order->problem == problem);
  CHECK(order->cases.size() == 2);
  CHECK(order->reference.plan.stages.front().grid[0] == 1);
}

TEST_CASE("the shipped reference is one for every way in which fp8 comes") {
  const auto kernels = embedded_kernels();
  REQUIRE(kernels);
  const auto naive = std::ranges::find_if(
      *kernels, [](const KernelRef& kernel) { return kernel->manifest.name == "naive"; });
  REQUIRE(naive != kernels->end());
  Attention problem{.batch = 1, .heads = 2, .kv_heads = 2, .seq_q = 256, .seq_kv = 256};
  problem.head_dim = 128;
  problem.dtype = Dtype::kE4m3;
  problem.out_dtype = Dtype::kBf16;
  for (const Quant quant : {Quant::kGiven, Quant::kFused, Quant::kSmoothK}) {
    problem.quant = quant;
    FakeCompiler compiler;
    const PreparationSetting setting{*naive, kSetting.limits, 10};
    const auto pending = request_problem(compiler, setting, problem, search_cases(problem, 42));
    REQUIRE(pending);
    CHECK(finish_problem(compiler, *pending));
  }
}

TEST_CASE("a reference that does not compile is an environment error with the compiler's line") {
  FakeCompiler compiler;
  compiler.compile = [](const CompileRequest&) {
    Compiled compiled;
    compiled.problem = "naive.cu(3): error: broken";
    return compiled;
  };
  const auto pending = request_problem(compiler, kSetting, {}, search_cases({}, 42));
  REQUIRE(pending);
  const auto order = finish_problem(compiler, *pending);
  REQUIRE_FALSE(order);
  CHECK(order.error().kind == ErrorKind::kEnvironment);
  CHECK(order.error().message.find("naive.cu(3): error: broken") != std::string::npos);
}

TEST_CASE("problems larger than the memory are refused before anything is allocated") {
  DeviceLimits limits = *typical_limits(Arch{90, 'a'});
  limits.memory_bytes = std::int64_t{8} << 30;
  const Attention usual{.batch = 4, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512};
  const auto check = [&](const Attention& problem, std::int64_t scratch) {
    LaunchPlan reference;
    reference.scratch = {{"scores", scratch}};
    return check_memory(*attention(), problem, reference, limits, 2);
  };
  CHECK(check(usual, 0));
  CHECK_FALSE(check(usual, std::int64_t{8} << 30));
  const Attention large{.batch = 64, .heads = 64, .kv_heads = 64, .seq_q = 65536, .seq_kv = 65536};
  const Status status = check(large, 0);
  REQUIRE_FALSE(status);
  CHECK(status.error().kind == ErrorKind::kUsage);
  CHECK(status.error().message.find("--shape") != std::string::npos);
  limits.memory_bytes = 0;
  CHECK(check(large, 0));
}

TEST_CASE("finalists meet every distribution, the search two seeds") {
  CHECK(search_cases({}, 42) ==
        std::vector<InputCase>{{Distribution::kNormal, 42}, {Distribution::kNormal, 43}});
  std::set<Distribution> met;
  for (const InputCase& which : final_cases(*attention(), {}, 42)) met.insert(which.distribution);
  CHECK(met.size() == 7);
}

TEST_CASE("edge problems are valid, keep what defines the kernel, and cover the awkward sizes") {
  const Attention like = test::problem("4,8,512,96 bf16 causal lse");
  std::set<std::int64_t> batches, sequences;
  bool odd_heads = false, unequal = false, grouped = false;
  std::set<Distribution> distributions;
  const auto edges = attention()->edge_problems(like, 1);
  REQUIRE(edges);
  for (const EdgeProblem& edge : *edges) {
    const Attention& problem = edge.problem.as_attention();
    CHECK(validate(problem));
    CHECK(problem.head_dim == 96);
    CHECK(problem.dtype == Dtype::kBf16);
    CHECK(problem.mask == Mask::kCausal);
    CHECK(problem.lse);
    batches.insert(problem.batch);
    sequences.insert(problem.seq_q);
    odd_heads = odd_heads || problem.heads == 3;
    grouped = grouped || problem.kv_heads < problem.heads;
    unequal = unequal || problem.seq_q > problem.seq_kv;
    for (const InputCase& which : edge.cases) distributions.insert(which.distribution);
  }
  CHECK(batches == std::set<std::int64_t>{1, 2, 4, 8, 54});
  for (const std::int64_t seq : {1, 17, 63, 65, 127, 129}) CHECK(sequences.count(seq) == 1);
  CHECK((odd_heads && unequal && grouped));
  CHECK(distributions.size() == 8);
}

TEST_CASE("the compiler's spills and warnings join the driver's figures") {
  Compiled compiled;
  compiled.entries["main_entry"].registers = 96;
  compiled.entries["main_entry"].spill_store_bytes = 16;
  compiled.entries["main_entry"].warnings = {"spills"};
  compiled.entries["other"].spill_store_bytes = 1000;
  LaunchPlan plan;
  plan.stages.resize(1);
  plan.stages[0].entry = "main_entry";
  plan.stages[0].block[0] = 128;
  const auto merged =
      with_compiler_log(Resources{.registers = 100, .threads = 128}, compiled, plan);
  CHECK(merged->registers == 100);
  CHECK(merged->spill_store_bytes == 16);
  CHECK(merged->warnings == std::vector<std::string>{"spills"});
  CHECK(with_compiler_log(std::nullopt, compiled, plan)->threads == 128);
  CHECK_FALSE(with_compiler_log(std::nullopt, Compiled{}, plan));
}

TEST_CASE("the processor's name is found in the system's text") {
  CHECK(cpu_model("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nmodel name\t: other\n") ==
        "Some CPU @ 2 GHz");
  CHECK(cpu_model("").empty());
  Environment environment;
  add_host(environment, "13.0.88");
  CHECK(environment.cpu_cores >= 1);
  CHECK_FALSE(environment.host.empty());
}

TEST_CASE("of a large problem one group of heads sees the hard inputs") {
  const Attention large{.batch = 2, .heads = 16, .kv_heads = 8, .seq_q = 16384, .seq_kv = 16384};
  CHECK(final_cases(*attention(), large, 42) == search_cases(large, 42));
  const auto edges = *attention()->edge_problems(large, 42);
  const auto group = std::find_if(edges.begin(), edges.end(), [](const EdgeProblem& edge) {
    return edge.problem.as_attention().seq_q == 16384;
  });
  REQUIRE(group != edges.end());
  Attention smallest = group->problem.as_attention();
  CHECK(smallest.batch == 1);
  CHECK(smallest.heads == 2);
  CHECK(smallest.kv_heads == 1);
  CHECK(group->cases.size() == edges.back().cases.size());
  smallest.seq_q = smallest.seq_kv = 1 << 20;
  CHECK(final_cases(*attention(), smallest, 42).size() == 8);
}
