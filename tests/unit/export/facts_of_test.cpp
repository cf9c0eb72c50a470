// facts_of_test.cpp: Tests launch facts from launch plans, and refusal of library stages.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "export/export_kernel.hpp"
#include "export/formats.hpp"
#include "export_fixture.hpp"
#include "support/custom_operation.hpp"

using namespace fatune;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("the facts of every exportable kernel are what the reader accepts") {
  for (const char* kernel : {"naive", "fa_rows", "fa_tiled", "fa_wmma", "fa_mma", "fa_wgmma"}) {
    INFO(kernel);
    Attention problem = test::mission();
    problem.lse = true;
    auto facts = facts_of(test::default_candidate(kernel, problem), test::limits_of("sm_90a"));
    REQUIRE(facts);
    CHECK(facts->kernel == kernel);
    CHECK(facts->scale == 0.125);
    CHECK(facts->sm_count == 132);
    CHECK(facts->exact_compute);
    facts->cubin = {"x.cubin", std::string(64, '0'), 1};
    const auto again = read_value<KernelFacts>(to_json(*facts), "x");
    if (!again) FAIL(again.error().message);
    CHECK(dump(to_json(*again)) == dump(to_json(*facts)));
  }
}

TEST_CASE("tensor maps carry sizes and strides of the contiguous tensors") {
  Attention problem{.batch = 2, .heads = 8, .kv_heads = 4, .seq_q = 512, .seq_kv = 1024};
  problem.dtype = Dtype::kBf16;
  const auto facts =
      facts_of(test::default_candidate("fa_wgmma", problem), test::limits_of("sm_90a"));
  REQUIRE(facts);
  REQUIRE(facts->tensor_maps.size() >= 3);
  for (const TensorMapFacts& map : facts->tensor_maps) {
    CHECK(map.element == MapElement::kBf16);
    const bool keys = map.tensor == "k" || map.tensor == "v";
    CHECK(map.sizes == (keys ? std::array<std::int64_t, 4>{64, 1024, 4, 2}
                             : std::array<std::int64_t, 4>{64, 512, 8, 2}));
    CHECK(map.strides_bytes == (keys ? std::array<std::int64_t, 3>{128, 131072, 524288}
                                     : std::array<std::int64_t, 3>{128, 65536, 524288}));
  }
}

TEST_CASE("factors are passed where there are some, and nowhere else") {
  Attention problem = test::mission();
  const auto plain = facts_of(test::default_candidate("naive", problem), test::limits_of("sm_90a"));
  REQUIRE(plain);
  CHECK(plain->stages.front().arguments == std::vector<std::string>{"q", "k", "scores"});
  problem.dtype = Dtype::kE4m3;
  problem.out_dtype = Dtype::kF16;
  auto facts = facts_of(test::default_candidate("naive", problem), test::limits_of("sm_90a"));
  REQUIRE(facts);
  CHECK(facts->stages.front().arguments ==
        std::vector<std::string>{"q", "k", "q_descale", "k_descale", "scores"});
  CHECK(tensor_parameters(*facts) == attention_tensors(problem));
  facts->cubin = {"x.cubin", std::string(64, '0'), 1};
  const auto again = read_value<KernelFacts>(to_json(*facts), "x");
  if (!again) FAIL(again.error().message);
  CHECK(dump(to_json(*again)) == dump(to_json(*facts)));
}

TEST_CASE("tensors that are not contiguous are told, and the reader accepts them") {
  Attention problem = test::mission();
  problem.layouts = *parse_layouts("packed");
  problem.lse = true;
  auto facts = facts_of(test::default_candidate("fa_mma", problem), test::limits_of("sm_90a"));
  REQUIRE(facts);
  REQUIRE(facts->tensors.size() == 5);
  CHECK(facts->tensors[1].name == "k");
  CHECK(facts->tensors[1].strides == std::vector<std::int64_t>{786432, 64, 1536, 1});
  CHECK(facts->tensors[3].strides == std::vector<std::int64_t>{262144, 64, 512, 1});
  CHECK(facts->tensors[4].strides == std::vector<std::int64_t>{4096, 512, 1});
  facts->cubin = {"x.cubin", std::string(64, '0'), 1};
  const auto again = read_value<KernelFacts>(to_json(*facts), "x");
  if (!again) FAIL(again.error().message);
  CHECK(dump(to_json(*again)) == dump(to_json(*facts)));
}

TEST_CASE("a library stage and a fixture are refused by name") {
  for (const char* kernel : {"cublas", "cutensor", "hybrid_qkt", "hybrid_pv"}) {
    const auto facts =
        facts_of(test::default_candidate(kernel, test::mission()), test::limits_of("sm_90a"));
    REQUIRE_FALSE(facts);
    CHECK(facts.error().kind == ErrorKind::kUsage);
    CHECK(facts.error().message.starts_with(kernel));
    const char* library = kernel == std::string_view("cutensor") ? "cuTENSOR" : "cuBLAS";
    CHECK(facts.error().message.find(library) != std::string::npos);
  }
  const auto fault =
      facts_of(test::default_candidate("faults", test::mission()), test::limits_of("sm_90a"));
  REQUIRE_FALSE(fault);
  CHECK(fault.error().message.find("fixture") != std::string::npos);
}

TEST_CASE("optional tensors are passed and described where the problem has them") {
  Attention problem = test::mission();
  problem.alibi = problem.sink = true;
  problem.mask = *parse_mask("padding:512,0,3");
  auto facts = facts_of(test::default_candidate("naive", problem), test::limits_of("sm_90a"));
  REQUIRE(facts);
  CHECK(facts->stages[0].arguments ==
        std::vector<std::string>{"q", "k", "scores", "lengths", "alibi"});
  CHECK(facts->stages[1].arguments == std::vector<std::string>{"scores", "lse", "sink"});
  REQUIRE(facts->tensors.size() == 7);
  CHECK(facts->tensors[3].type == "i32");
  CHECK(facts->tensors[3].shape == std::vector<std::int64_t>{4});
  CHECK(facts->tensors[5].name == "sink");
  facts->cubin = {"x.cubin", std::string(64, '0'), 1};
  const auto again = read_value<KernelFacts>(to_json(*facts), "x");
  if (!again) FAIL(again.error().message);
  CHECK(dump(to_json(*again)) == dump(to_json(*facts)));
}

TEST_CASE("a custom operation tells its tensors, and no scale") {
  const KernelRef kernel = test::custom_kernels().front();
  const Candidate candidate{kernel, default_config(kernel->manifest),
                            test::custom_test_problem(512, 1024)};
  auto facts = facts_of(candidate, test::limits_of("sm_90a"));
  REQUIRE(facts);
  REQUIRE(facts->tensors.size() == 4);
  CHECK(facts->tensors[0].strides == std::vector<std::int64_t>{1024, 1});
  CHECK(facts->tensors[1].type == "f32");
  CHECK(facts->tensors[1].strides == std::vector<std::int64_t>{1});
  CHECK(facts->tensors[3].output);
  facts->cubin = {"x.cubin", std::string(64, '0'), 1};
  Json json = to_json(*facts);
  CHECK_FALSE(json.contains("scale"));
  const auto again = read_value<KernelFacts>(json, "x");
  if (!again) FAIL(again.error().message);
  CHECK(dump(to_json(*again)) == dump(json));
  json["stages"][0]["arguments"][0] = "q";
  CHECK_FALSE(read_value<KernelFacts>(json, "x"));
  json = to_json(*facts);
  json.erase("tensors");
  const auto untold = read_value<KernelFacts>(json, "x");
  REQUIRE_FALSE(untold);
  CHECK(untold.error().message.find("'problem.operation'") != std::string::npos);
}

TEST_CASE("expressions over run-time sizes are told beside the tuned problem's numbers") {
  using test::changed;
  const auto kernels = test::load_custom(
      changed(test::kCustomReference, "\"meaning\": \"rows of x and y\"", "\"runtime\": true"),
      changed(test::kCustomKernel, R"("sums"])",
              R"("sums", "rest", "i32 ROWS / 2", "i32 COLUMNS"]}],
        "scratch": [{"name": "rest", "bytes": "4 * ROWS"}], "terms": [{"name": "ONE", "value": "1")"));
  REQUIRE(kernels);
  const KernelRef& kernel = kernels->front();
  auto facts = facts_of({kernel, default_config(kernel->manifest), test::custom_test_problem(512)},
                        test::limits_of("sm_90a"));
  REQUIRE(facts);
  CHECK(facts->runtime_sizes == std::vector<std::string>{"ROWS"});
  CHECK(facts->tensors[0].extents == std::vector<std::string>{"ROWS", "64"});
  CHECK(facts->tensors[1].extents.empty());
  CHECK(facts->stages[0].grid[0] == 512);
  CHECK(facts->stages[0].extents == std::vector<std::string>{"ROWS", "1", "1"});
  CHECK(facts->stages[0].arguments[5] == "i32 ROWS / 2");
  CHECK(facts->stages[0].arguments[6] == "i32 64");
  CHECK(facts->scratch[0].bytes == 2048);
  CHECK(facts->scratch[0].extent == "4 * ROWS");
  facts->cubin = {"x.cubin", std::string(64, '0'), 1};
  Json json = to_json(*facts);
  const auto again = read_value<KernelFacts>(json, "x");
  if (!again) FAIL(again.error().message);
  CHECK(dump(to_json(*again)) == dump(json));
  json["scratch"][0]["bytes_expression"] = "4; abort()";
  CHECK_FALSE(read_value<KernelFacts>(json, "x"));
}

TEST_CASE("an output that is read is told as filled") {
  const auto kernels = test::load_custom(
      test::changed(test::kCustomReference, R"("shape": ["ROWS"], "output": true)",
                    R"("shape": ["ROWS"], "output": true, "fill": "normal")"));
  REQUIRE(kernels);
  const KernelRef& kernel = kernels->front();
  ExportedKernel exported;
  exported.name = "scale";
  exported.facts =
      *facts_of({kernel, default_config(kernel->manifest), test::custom_test_problem(512, 1024)},
                test::limits_of("sm_90a"));
  KernelFacts& facts = exported.facts;
  CHECK_FALSE(facts.tensors[2].filled);
  CHECK(facts.tensors[3].filled);
  facts.cubin = {"x.cubin", std::string(64, '0'), 1};
  const auto again = read_value<KernelFacts>(to_json(facts), "x");
  if (!again) FAIL(again.error().message);
  CHECK(dump(to_json(*again)) == dump(to_json(facts)));
  const std::string header = c_header(exported);
  CHECK_THAT(header, ContainsSubstring(" *   d_y: f16 [512, 1024], written\n"
                                       " *   d_sums: f32 [512], read and written\n"));
  CHECK_THAT(header, ContainsSubstring(" * y, sums of x, w, sums for scale ROWS=512"));
}

TEST_CASE("a kernel without a reference is exported as one that agrees with its default config") {
  KernelFacts facts;
  facts.verified = true;
  const auto says = [&](const char* line) { return std::ranges::count(provenance(facts), line); };
  CHECK(says("verified: passed every gate") == 1);
  facts.own_yardstick = true;
  CHECK(says("verified: agrees with its default config; there is no reference") == 1);
}
