// candidate_test.cpp: Checks identity, macros and launch plans of candidates.
#include "model/kernel/candidate.hpp"

#include <algorithm>
#include <cstdlib>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "support/sample_kernel.hpp"

namespace fatune {
namespace {

Candidate with(Candidate candidate, std::string_view parameter, std::size_t position) {
  for (Setting& setting : candidate.config.settings) {
    if (setting.name != parameter) continue;
    setting.value = candidate.kernel->manifest.find(parameter)->values.at(position);
  }
  return candidate;
}

TEST_CASE("an id follows text, config, problem and options, and nothing else") {
  const std::string base = candidate_id(sample_candidate(), "sm_80");
  CHECK(base.size() == 16);
  CHECK(candidate_id(sample_candidate(), "sm_80") == base);
  CHECK(candidate_id(sample_candidate(), "sm_86") != base);
  CHECK(candidate_id(with(sample_candidate(), "BLOCK_M", 2), "sm_80") != base);
  Candidate causal = sample_candidate();
  causal.problem.as_attention().mask = Mask::kCausal;
  CHECK(candidate_id(causal, "sm_80") != base);
  const std::string text = std::string(kSampleSource) + "// changed\n";
  Candidate edited = sample_candidate();
  edited.kernel = sample_kernel(kSampleManifest, text);
  CHECK(candidate_id(edited, "sm_80") != base);
  Candidate reworded = sample_candidate();
  reworded.kernel = sample_kernel(sample_with("a kernel for tests", "other words"));
  CHECK(candidate_id(reworded, "sm_80") == base);
}

TEST_CASE("a key survives a change of the text") {
  Candidate edited = sample_candidate();
  edited.kernel = sample_kernel(kSampleManifest, std::string(kSampleSource) + "// changed\n");
  CHECK(candidate_key(edited) == candidate_key(sample_candidate()));
  CHECK(candidate_key(with(sample_candidate(), "EXP2", 0)) != candidate_key(sample_candidate()));
  CHECK(candidate_key(sample_candidate()) ==
        "sample b4-h8-kv8-sq512-skv512-d64-f16-none BLOCK_M=64 BLOCK_N=32 REDUCE=warp EXP2=true");
}

TEST_CASE("macros are in a fixed order and complete") {
  CHECK(macros_of(with(sample_candidate(), "REDUCE", 1), limits_of("sm_90a")) ==
        std::vector<std::string>{"BLOCK_M=64",
                                 "BLOCK_N=32",
                                 "REDUCE=1",
                                 "EXP2=1",
                                 "REDUCE_WARP=0",
                                 "REDUCE_SERIAL=1",
                                 "BATCH=4",
                                 "HEADS=8",
                                 "KV_HEADS=8",
                                 "SEQ_Q=512",
                                 "SEQ_KV=512",
                                 "HEAD_DIM=64",
                                 "VALUE_DIM=64",
                                 "CAUSAL=0",
                                 "LSE=0",
                                 "MASKED=0",
                                 "DIAGONAL=0",
                                 "KEYS_BEFORE=-1",
                                 "KEYS_AFTER=-1",
                                 "PREFIX_KEYS=0",
                                 "SOFTCAPPED=0",
                                 "BIAS=0",
                                 "BIAS_ROWS=0",
                                 "BIAS_ALIGN=0",
                                 "LENGTHS=0",
                                 "DOCUMENTS=0",
                                 "ALIBI=0",
                                 "SINK=0",
                                 "MASK_EXPR=0",
                                 "SCORE_EXPR=0",
                                 "TENSORS=0",
                                 "Q_BATCH_STRIDE=262144",
                                 "Q_HEAD_STRIDE=32768",
                                 "Q_ROW_STRIDE=64",
                                 "K_BATCH_STRIDE=262144",
                                 "K_HEAD_STRIDE=32768",
                                 "K_ROW_STRIDE=64",
                                 "V_BATCH_STRIDE=262144",
                                 "V_HEAD_STRIDE=32768",
                                 "V_ROW_STRIDE=64",
                                 "OUT_BATCH_STRIDE=262144",
                                 "OUT_HEAD_STRIDE=32768",
                                 "OUT_ROW_STRIDE=64",
                                 "DTYPE=1",
                                 "DTYPE_BYTES=2",
                                 "SOFTMAX_SCALE=0.125f",
                                 "SOFTMAX_SCALE_LOG2E=0.180336878f",
                                 "SM_COUNT=132"});
}

TEST_CASE("the log-sum-exp is a macro, a variable, and another candidate") {
  Candidate candidate = sample_candidate();
  const std::string without = candidate_id(candidate, "");
  candidate.problem.as_attention().lse = true;
  CHECK(candidate_id(candidate, "") != without);
  const auto macros = macros_of(candidate, limits_of("80"));
  CHECK(std::find(macros.begin(), macros.end(), "LSE=1") != macros.end());
  const Manifest& manifest = candidate.kernel->manifest;
  CHECK(*scope_of(manifest, candidate.config, candidate.problem, limits_of("80")).find("LSE") == 1);
}

TEST_CASE("the scale is a float literal that gives the float back exactly") {
  for (const std::int64_t head_dim : {1, 16, 40, 64, 80, 96, 128, 256}) {
    Candidate candidate = sample_candidate();
    candidate.problem.as_attention().head_dim = head_dim;
    const auto macros = macros_of(candidate, limits_of("80"));
    const auto scale = std::find_if(macros.begin(), macros.end(), [](const std::string& macro) {
      return macro.starts_with("SOFTMAX_SCALE=");
    });
    REQUIRE(scale != macros.end());
    const std::string literal = scale->substr(scale->find('=') + 1);
    INFO(literal);
    CHECK(literal.back() == 'f');
    CHECK(literal.find_first_of(".e") != std::string::npos);
    const Scope scope =
        scope_of(candidate.kernel->manifest, candidate.config, candidate.problem, limits_of("80"));
    CHECK(static_cast<double>(std::strtof(literal.c_str(), nullptr)) ==
          *scope.find("SOFTMAX_SCALE"));
  }
}

TEST_CASE("a scale that was told is a macro, a variable, and another candidate") {
  Candidate candidate = sample_candidate();
  const std::string usual = candidate_id(candidate, "");
  candidate.problem = with_scale(candidate.problem.as_attention(), 1);
  CHECK(candidate_id(candidate, "") != usual);
  const auto macros = macros_of(candidate, limits_of("80"));
  CHECK(std::ranges::count(macros, "SOFTMAX_SCALE=1.0f") == 1);
  CHECK(std::ranges::count(macros, "SOFTMAX_SCALE_LOG2E=1.44269502f") == 1);
  candidate.problem = with_scale(candidate.problem.as_attention(), 0.125F);
  CHECK(candidate_id(candidate, "") == usual);
}

TEST_CASE("the scope has parameters, words, problem and device") {
  const Candidate candidate = with(sample_candidate(), "REDUCE", 1);
  const Scope scope =
      scope_of(candidate.kernel->manifest, candidate.config, candidate.problem, limits_of("sm_86"));
  CHECK(*scope.find("BLOCK_M") == 64);
  CHECK(*scope.find("REDUCE") == 1);
  CHECK(*scope.find("REDUCE_SERIAL") == 1);
  CHECK(*scope.find("DTYPE_E5M2") == 4);
  CHECK(*scope.find("MAX_SHARED") == 101376);
  CHECK(*scope.find("ARCH") == 86);
  CHECK(scope.find("SOFTMAX_SCALE_LOG2E") == nullptr);
}

TEST_CASE("a launch plan has every expression evaluated") {
  const auto plan = launch_plan(sample_candidate(), limits_of("sm_90a"));
  INFO((plan ? "" : plan.error().message));
  REQUIRE(plan);
  REQUIRE(plan->stages.size() == 1);
  const StagePlan& stage = plan->stages[0];
  CHECK(stage.grid[0] == 8);
  CHECK(stage.grid[1] == 32);
  CHECK(stage.block[0] == 64);
  CHECK(stage.cluster[2] == 1);
  CHECK(stage.shared_bytes == 64 * 64 * 2);
  CHECK(stage.static_shared_bytes == 256);
  CHECK(plan->scratch[0].bytes == 4LL * 4 * 8 * 512 * 512);
  CHECK(plan->tensor_maps[0].box[1] == 32);
  const Json json = to_json(*plan);
  CHECK(json["stages"][0].dump() ==
        R"({"entry":"sample_main","grid":[8,32,1],"block":[64,1,1],"cluster":[1,1,1],)"
        R"("shared_bytes":8192,"static_shared_bytes":256,"dependent":false,)"
        R"("arguments":["q","k","v","out","scores","map_k"]})");
  const auto again = read_value<LaunchPlan>(json, "message");
  REQUIRE(again);
  CHECK(to_json(*again) == json);
}

TEST_CASE("a dependent launch is planned where the device has them") {
  const std::string_view before = "\"static_shared_bytes\": \"256\",";
  Candidate candidate = sample_candidate();
  candidate.kernel =
      sample_kernel(sample_with(before, std::string(before) + "\"dependent\": \"BLOCK_M == 64\","));
  const auto plan = launch_plan(candidate, limits_of("sm_90a"));
  REQUIRE(plan);
  CHECK(plan->stages[0].dependent);
  CHECK(read_value<LaunchPlan>(to_json(*plan), "message")->stages[0].dependent);
  const auto older = launch_plan(candidate, limits_of("sm_89"));
  REQUIRE_FALSE(older);
  CHECK(older.error().message ==
        "sample.json: field 'stages[0].dependent': sample_main begins before the work in front of "
        "it has ended, which needs sm_90");
}

TEST_CASE("a broken plan names the field") {
  Json json = to_json(*launch_plan(sample_candidate(), limits_of("sm_90a")));
  const auto error_after = [&](auto change) {
    Json changed = json;
    change(changed);
    const auto plan = read_value<LaunchPlan>(changed, "message");
    return plan ? "" : plan.error().message;
  };
  CHECK(error_after([](Json& j) {
          j["stages"][0]["grid"] = Json{1, 2};
        }) == "message: field 'stages[0].grid' must be three whole numbers");
  CHECK(error_after([](Json& j) { j["stages"][0]["block"][1] = "x"; }) ==
        "message: field 'stages[0].block[1]' must be a whole number, but is string");
  CHECK(error_after([](Json& j) { j["stages"][0]["shared_bytes"] = -1; }) ==
        "message: field 'stages[0].shared_bytes' must be at least 0, but is -1");
  CHECK(error_after([](Json& j) { j.erase("stages"); }) == "message: field 'stages' is missing");
  CHECK(error_after([](Json& j) { j["stages"] = Json::array(); }) ==
        "message: field 'stages' must not be empty");
}

}  // namespace
}  // namespace fatune
