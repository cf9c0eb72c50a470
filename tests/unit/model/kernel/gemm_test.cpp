// gemm_test.cpp: Checks that stages of library matrix products are read, evaluated and linted.
#include "model/kernel/gemm.hpp"

#include <algorithm>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "model/kernel/candidate.hpp"
#include "model/space/lint.hpp"
#include "model/space/space.hpp"
#include "support/sample_kernel.hpp"

namespace fatune {
namespace {

constexpr std::string_view kMixedManifest = R"json({
  "schema": "fatune.kernel/1", "name": "mixed", "summary": "a product and a launch",
  "source": "mixed.cu", "role": "baseline",
  "supports": {"dtypes": ["f16", "bf16"], "masks": ["none"]},
  "parameters": [
    {"name": "SCORE_TYPE", "values": ["io", "f32"], "default": "io", "meaning": "of the scores"},
    {"name": "PICK", "values": [0, 1, 2], "default": 1, "meaning": "the library's algorithm"}
  ],
  "scratch": [{"name": "scores", "bytes": "BATCH * HEADS * SEQ_Q * round_up(SEQ_KV, 8) * 4"}],
  "tensor_maps": [{"name": "map_v", "tensor": "v", "box": ["8", "8", "1", "1"]}],
  "stages": [
    {"gemm": {"library": "cublas", "a": "q", "b": "k", "c": "scores",
              "m": "HEADS / KV_HEADS * SEQ_Q", "n": "SEQ_KV", "k": "HEAD_DIM",
              "batch": "BATCH * KV_HEADS", "transpose_b": true, "alpha": "1 / 1024",
              "c_type": "SCORE_TYPE", "pitch_c": "round_up(SEQ_KV, 8)", "algorithm": "PICK"}},
    {"entry": "mixed_main", "grid": ["1", "1", "1"], "block": ["32", "1", "1"],
     "arguments": ["scores", "map_v", "out"]}
  ]
})json";
constexpr std::string_view kSource = "extern \"C\" __global__ void mixed_main() {}\n";
const Attention kGrouped{
    .batch = 2, .heads = 8, .kv_heads = 2, .seq_q = 10, .seq_kv = 35, .head_dim = 64};

std::string changed(std::string_view from, std::string_view to) {
  std::string text(kMixedManifest);
  const std::size_t at = text.find(from);
  FATUNE_CHECK(at != std::string::npos, "a test must replace text that is there");
  return text.replace(at, from.size(), to);
}

KernelRef mixed_kernel(const std::string& manifest = std::string(kMixedManifest)) {
  const SourceTree tree = {{"mixed.cu", std::string(kSource)}, {"mixed.json", manifest}};
  const Result<std::vector<KernelRef>> kernels = load_kernels(tree);
  FATUNE_CHECK(static_cast<bool>(kernels), kernels.error().message.c_str());
  return kernels->front();
}

std::string parse_error(std::string_view from, std::string_view to) {
  const auto manifest = parse_manifest(changed(from, to), "mixed.json");
  return manifest ? "" : manifest.error().message;
}

Result<LaunchPlan> plan_of(const KernelRef& kernel, const Attention& problem = kGrouped) {
  return launch_plan({kernel, default_config(kernel->manifest), problem}, limits_of("sm_90a"));
}

}  // namespace

TEST_CASE("a product's mistakes are named with file and field") {
  const std::string file = "mixed.json: field 'stages[0].gemm.";
  CHECK(parse_error("\"library\": \"cublas\"", "\"library\": \"mkl\"") ==
        file + "library' is wrong: library 'mkl' is unknown; known are cublas, cutensor");
  CHECK(parse_error("\"a\": \"q\"", "\"a\": \"map_v\"") ==
        file + "a' is 'map_v', which is not one of q, k, v, out, scores");
  CHECK(parse_error("\"c\": \"scores\",", "") == file + "c' is missing");
  CHECK(parse_error("\"n\": \"SEQ_KV\", ", "") == file + "n' is missing");
  CHECK(parse_error("\"k\": \"HEAD_DIM\"", "\"k\": \"HEAD_DMI\"") ==
        file + "k': 'HEAD_DMI' uses the unknown name 'HEAD_DMI' (did you mean 'HEAD_DIM'?)");
  CHECK(parse_error("\"c_type\": \"SCORE_TYPE\"", "\"c_type\": \"f64\"") ==
        file + "c_type' is 'f64', which is neither a parameter nor one of io, f16, bf16, f32");
  CHECK(parse_error("\"c_type\": \"SCORE_TYPE\"", "\"c_type\": \"PICK\"") ==
        file + "c_type' is 'PICK', a parameter whose values are not all of io, f16, bf16, f32");
  CHECK(parse_error("\"bf16\"]", "\"e4m3\"]") ==
        file +
            "a_type' is 'io', but 'supports.dtypes' has e4m3: products are of f16 and bf16 only");
  CHECK(parse_error("\"transpose_b\"", "\"transposeb\"") ==
        file + "transposeb' is unknown; did you mean 'transpose_b'?");
  CHECK(parse_error("{\"gemm\": {", "{\"entry\": \"x\", \"gemm\": {")
            .starts_with("mixed.json: field 'stages[0].entry' is unknown"));
  CHECK(
      parse_error("\"role\": \"baseline\"", "\"role\": \"baseline\", \"tuned_by_default\": true") ==
      "mixed.json: field 'tuned_by_default' is true, but a baseline is no candidate of sweeps");
}

TEST_CASE("batches around the batch are cuTENSOR's, with a stride each") {
  const std::string file = "mixed.json: field 'stages[0].gemm.";
  const std::string outer = "\"outer\": [\"BATCH\", \"KV_HEADS\"], ";
  const std::string from = "\"library\": \"cublas\"", to = "\"library\": \"cutensor\"";
  CHECK(parse_error(from, outer + from) ==
        file + "outer' is for cutensor: cublas knows one batch, of one stride");
  CHECK(parse_error(from, outer + to) ==
        file + "outer_stride_a' has 0 strides for 2 sizes of 'outer'");
  CHECK(parse_error(from, "\"outer\": [\"BATCHES\"], " + to) ==
        file + "outer[0]': 'BATCHES' uses the unknown name 'BATCHES' (did you mean 'BATCH'?)");

  const std::string strides =
      "\"stride_b\": \"0\", \"outer_stride_a\": [\"4096\", \"64\"], "
      "\"outer_stride_b\": [\"9\", \"0\"], "
      "\"outer_stride_c\": [\"8\", \"SEQ_KV\"], ";
  const auto plan = plan_of(mixed_kernel(changed(from, outer + strides + to)));
  INFO((plan ? "" : plan.error().message));
  REQUIRE(plan);
  const GemmPlan& gemm = *plan->stages[0].gemm;
  CHECK(gemm.library == GemmLibrary::kCutensor);
  CHECK(gemm.outer == std::vector<std::int64_t>{2, 2});
  CHECK(gemm.operands[0].outer_strides == std::vector<std::int64_t>{4096, 64});
  CHECK(gemm.operands[1].stride == 0);
  CHECK(gemm.operands[1].outer_strides == std::vector<std::int64_t>{9, 0});
  CHECK(gemm.operands[2].outer_strides == std::vector<std::int64_t>{8, 35});
  CHECK(describe(gemm) == "cutensor 40 x 35 x 64, 16 times");
  CHECK(to_json(gemm).at("outer").size() == 2);
  CHECK_FALSE(to_json(*plan_of(mixed_kernel())->stages[0].gemm).contains("outer"));
}

TEST_CASE("a product is planned from its expressions") {
  const KernelRef kernel = mixed_kernel();
  CHECK(kernel->manifest.role == Role::kBaseline);
  const auto plan = plan_of(kernel);
  INFO((plan ? "" : plan.error().message));
  REQUIRE(plan);
  REQUIRE(plan->stages.size() == 2);
  REQUIRE(plan->stages[0].gemm);
  CHECK_FALSE(plan->stages[1].gemm);
  const GemmPlan& gemm = *plan->stages[0].gemm;
  CHECK(gemm.m == 40);
  CHECK(gemm.n == 35);
  CHECK(gemm.k == 64);
  CHECK(gemm.batch == 4);
  CHECK(gemm.alpha == 1.0 / 1024);
  CHECK(gemm.algorithm == 1);
  const auto& [a, b, c] = gemm.operands;
  CHECK(a.rows == 40);
  CHECK(a.columns == 64);
  CHECK(a.pitch == 64);
  CHECK(a.stride == 40 * 64);
  CHECK(b.transpose);
  CHECK(b.rows == 35);
  CHECK(b.columns == 64);
  CHECK(b.stride == 35 * 64);
  CHECK(c.pitch == 40);
  CHECK(c.stride == 40 * 40);
  CHECK(c.type == GemmType::kF16);
  CHECK(describe(gemm) == "cublas 40 x 35 x 64, 4 times");
}

TEST_CASE("types follow the problem, a word or a parameter") {
  const KernelRef kernel = mixed_kernel();
  Config config = default_config(kernel->manifest);
  config.settings[0].value = kernel->manifest.parameters[0].values[1];
  Attention problem = kGrouped;
  problem.dtype = Dtype::kBf16;
  const auto plan = launch_plan({kernel, config, problem}, limits_of("sm_90a"));
  REQUIRE(plan);
  CHECK(plan->stages[0].gemm->operands[0].type == GemmType::kBf16);
  CHECK(plan->stages[0].gemm->operands[2].type == GemmType::kF32);
  CHECK(size_of(GemmType::kF32) == 4);
}

TEST_CASE("sizes that cannot be are errors of the manifest") {
  const auto narrow = plan_of(mixed_kernel(changed("\"round_up(SEQ_KV, 8)\"", "\"SEQ_KV - 1\"")));
  REQUIRE_FALSE(narrow);
  CHECK(narrow.error().message ==
        "mixed.json: field 'stages[0].gemm.pitch_c' is 34, but must be at least 35");
  const auto none = plan_of(mixed_kernel(changed("\"BATCH * KV_HEADS\"", "\"BATCH - 2\"")));
  REQUIRE_FALSE(none);
  CHECK(none.error().message ==
        "mixed.json: field 'stages[0].gemm.batch' is 0, but must be at least 1");
}

TEST_CASE("a plan with a product goes through JSON unchanged") {
  const auto plan = plan_of(mixed_kernel());
  REQUIRE(plan);
  const Json json = to_json(*plan);
  CHECK(json["stages"][0].size() == 1);
  CHECK_FALSE(json["stages"][1].contains("gemm"));
  const auto again = read_value<LaunchPlan>(json, "message");
  INFO((again ? "" : again.error().message));
  REQUIRE(again);
  CHECK(to_json(*again) == json);

  LaunchPlan elsewhere = *plan;
  accept_shorter_lists(elsewhere);
  CHECK(elsewhere.stages[0].gemm->or_last);
  const auto same = read_value<LaunchPlan>(to_json(elsewhere), "message");
  REQUIRE(same);
  CHECK(same->stages[0].gemm->or_last);

  Json broken = json;
  broken["stages"][0]["gemm"]["b"]["type"] = "f64";
  const auto refused = read_value<LaunchPlan>(broken, "message");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message ==
        "message: field 'stages[0].gemm.b.type' is wrong: type 'f64' is unknown; known are f16, "
        "bf16, f32");
  broken = json;
  broken["stages"][0]["gemm"]["m"] = 0;
  CHECK(read_value<LaunchPlan>(broken, "message").error().message ==
        "message: field 'stages[0].gemm.m' must be at least 1, but is 0");
}

TEST_CASE("the lint counts a product's operands and parameters as used") {
  CHECK(lint(*mixed_kernel()).empty());
  const auto unused =
      lint(*mixed_kernel(changed("\"algorithm\": \"PICK\"", "\"algorithm\": \"0\"")));
  REQUIRE(unused.size() == 1);
  CHECK(unused[0].severity == Severity::kError);
  CHECK(unused[0].message.starts_with("PICK does nothing"));
}

TEST_CASE("a product's expressions can use terms") {
  std::string text = changed("\"scratch\": [", R"json("terms": [
    {"name": "GROUP", "value": "HEADS / KV_HEADS", "meaning": "query heads of a key head"},
    {"name": "PITCH", "value": "round_up(SEQ_KV, 8)", "meaning": "scores from row to row"},
    {"name": "ENTRY", "value": "PICK + 0", "meaning": "of the library's list"},
    {"name": "SCALE", "value": "1 / 1024", "meaning": "of the scores"}], "scratch": [)json");
  const auto put = [&text](std::string_view field, std::string_view from, std::string_view to) {
    const std::size_t at = text.find(from, text.find(field));
    FATUNE_CHECK(at != std::string::npos, "a test must replace text that is there");
    text.replace(at, from.size(), to);
  };
  put("\"m\":", "HEADS / KV_HEADS", "GROUP");
  put("\"alpha\":", "1 / 1024", "SCALE");
  put("\"pitch_c\":", "round_up(SEQ_KV, 8)", "PITCH");
  put("\"algorithm\":", "PICK", "ENTRY");
  const auto named = plan_of(mixed_kernel(text));
  INFO((named ? "" : named.error().message));
  REQUIRE(named);
  CHECK(to_json(*named) == to_json(*plan_of(mixed_kernel())));
  CHECK(lint(*mixed_kernel(text)).empty());
}

TEST_CASE("a space with products has the rules of its launches only") {
  const auto space = Space::build(mixed_kernel(), kGrouped, limits_of("sm_90a"));
  REQUIRE(space);
  CHECK(space->size() == 6);
}

}  // namespace fatune
