// manifest_test.cpp: Checks that manifests parse, and that each kind of mistake has its message.
#include "model/kernel/manifest.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "support/sample_kernel.hpp"

namespace fatune {
namespace {

const std::string kFile = "sample.json: ";

TEST_CASE("a valid manifest is read whole") {
  const auto manifest = parse_manifest(kSampleManifest, "sample.json");
  INFO((manifest ? "" : manifest.error().message));
  REQUIRE(manifest);
  CHECK(manifest->name == "sample");
  CHECK(manifest->role == Role::kAttention);
  CHECK(manifest->tuned_by_default);
  CHECK(manifest->min_arch == 80);
  CHECK(manifest->dtypes == std::vector<Dtype>{Dtype::kF16, Dtype::kBf16});
  CHECK(manifest->masks == std::vector<MaskKind>{MaskKind::kNone, MaskKind::kCausal});
  REQUIRE(manifest->parameters.size() == 4);
  CHECK(manifest->parameters[0].ordinal);
  CHECK_FALSE(manifest->parameters[2].ordinal);
  CHECK(manifest->find("REDUCE")->values[1].number == 1);
  CHECK(manifest->find("NUM_WARPS") == nullptr);
  CHECK(manifest->constraints[0].where == kFile + "field 'constraints[0].require'");
  CHECK(manifest->stages[0].cluster == std::vector<std::string>{"1", "1", "1"});
  CHECK(manifest->tensor_maps[0].swizzle == "128");
  CHECK(describe(default_config(*manifest)) == "BLOCK_M=64 BLOCK_N=32 REDUCE=warp EXP2=true");
}

TEST_CASE("fields with defaults can be left out") {
  const auto manifest = parse_manifest(R"({"schema": "fatune.kernel/1", "name": "a",
    "summary": "s", "source": "a.cu", "supports": {"dtypes": ["e4m3"], "masks": ["none"]},
    "stages": [{"entry": "a", "grid": ["1", "1", "1"], "block": ["32", "1", "1"],
                "arguments": ["out"]}]})",
                                       "a.json");
  INFO((manifest ? "" : manifest.error().message));
  REQUIRE(manifest);
  CHECK_FALSE(manifest->tuned_by_default);
  CHECK(manifest->parameters.empty());
  CHECK(manifest->stages[0].shared_bytes == "0");
  CHECK(describe(default_config(*manifest)).empty());
}

struct Mistake {
  const char* from;
  const char* to;
  const char* message;
};

void check_mistakes(std::initializer_list<Mistake> mistakes) {
  for (const Mistake& mistake : mistakes) {
    INFO(mistake.to);
    CHECK(sample_error(mistake.from, mistake.to) == kFile + mistake.message);
  }
}

TEST_CASE("mistakes in the head are named") {
  check_mistakes({
      {"\"role\"", "\"roll\"", "field 'roll' is unknown; did you mean 'role'?"},
      {"a kernel for tests", " ", "field 'summary' must not be empty"},
      {"fatune.kernel/1", "fatune.kernel/2",
       "is a fatune.kernel/2, written by a newer fatune; this one reads fatune.kernel/1. Update "
       "fatune "
       "to read it"},
      {"\"attention\"", "\"atention\"",
       "field 'role' is wrong: 'atention' is not one of attention, reference, baseline, fault"},
      {"\"name\": \"sample\"", "\"name\": \"Sample One\"",
       "field 'name' is 'Sample One', not a name of lower-case letters, digits and _ only"},
      {"\"tuned_by_default\": true", "\"tuned_by_default\": 1",
       "field 'tuned_by_default' must be true or false, but is number"},
      {"\"min\": 80", "\"min\": 8", "field 'arch.min' is 8, but must be from 50 to 999"},
      {"\"min\": 80", "\"mim\": 80", "field 'arch.mim' is unknown; did you mean 'min'?"},
      {"\"min\": 80", "\"only\": [\"sm90\"]",
       "field 'arch.only[0]' is wrong: 'sm90' is not an architecture such as sm_80, sm_90a or "
       "sm_120"},
      {"\"min\": 80", "\"min\": 90, \"only\": [\"sm_80\"]",
       "field 'arch.only[0]' is sm_80, which is below 'min', 90"},
      {"[\"f16\", \"bf16\"]", "[]", "field 'supports.dtypes' must not be empty"},
      {"[\"f16\", \"bf16\"]", "[\"f16\", \"f16\"]", "field 'supports.dtypes[1]' repeats f16"},
      {"HEAD_DIM % 16 == 0", "BLOCK_M % 16 == 0",
       "field 'supports.rules[0].require': 'BLOCK_M % 16 == 0' uses the unknown name 'BLOCK_M'"},
  });
  CHECK(sample_error("\"bf16\"", "\"fp16\"")
            .starts_with(kFile + "field 'supports.dtypes[1]' is wrong: "));
  CHECK(sample_error("\"causal\"", "\"casual\"")
            .starts_with(kFile + "field 'supports.masks[1]' is wrong: "));
  CHECK(sample_error("\"name\": \"sample\",", "\"name\": \"sample\"")
            .starts_with(kFile + "not valid JSON at line 4"));
  CHECK(parse_manifest("[]", "x.json").error().message ==
        "x.json: must be an object, but is array");
}

/// The error of the sample as a fixture whose REDUCE declares what is wrong with each value.
std::string fault_error(const std::string& fault, const std::string& role = "fault") {
  const std::string first =
      R"([{"value": "warp", "meaning": "m", "outcome": "crashed", "gate": "launch"}, )";
  std::string text = sample_with(R"(["warp", "serial"])", first + fault + "]");
  const std::string_view from = R"("role": "attention")";
  text.replace(text.find(from), from.size(), R"("role": ")" + role + "\"");
  const Result<Manifest> manifest = parse_manifest(text, "sample.json");
  return manifest ? "" : manifest.error().message;
}

TEST_CASE("mistakes in what a fixture declares are named") {
  const auto with = [](const std::string& more) {
    return "{\"value\": \"serial\", \"meaning\": \"m\", " + more + "}";
  };
  const std::string right = with("\"outcome\": \"crashed\", \"gate\": \"launch\"");
  const std::string value = kFile + "field 'parameters[2].values[1].";
  CHECK(fault_error(right) == "");
  CHECK(fault_error(right, "attention") ==
        kFile + "field 'parameters' have values with an outcome, which is for role 'fault'");
  CHECK(fault_error("\"serial\"") ==
        kFile + "field 'parameters[2].values[1]' must be an object, but is string");
  CHECK(fault_error(with("\"outcome\": \"crash\", \"gate\": \"launch\"")) ==
        value +
            "outcome' is 'crash', but must be one of infeasible, compile_error, launch_error, "
            "wrong_result, timeout, crashed, measured");
  CHECK(fault_error(with("\"outcome\": \"wrong_result\", \"gate\": \"poisson\"")) ==
        value +
            "gate' is 'poisson', but must be one of source, constraints, compilation, state, "
            "launch, poison, "
            "inputs, guard_bands, accuracy, repeat, early_start, physics, timed_output, "
            "same_work, persisting_l2, carry_over, in_layer, edge_problems");
  const std::string crashed = "\"outcome\": \"crashed\", \"gate\": \"launch\", ";
  CHECK(fault_error(with(crashed + "\"persisting_window\": \"out\"")) ==
        value + "persisting_window' is 'out', but must be one of q, k, v");
  CHECK(fault_error(with(crashed + "\"when\": \"EXTENT > 1\"")) ==
        value + "when': 'EXTENT > 1' uses the unknown name 'EXTENT'");
  CHECK(fault_error(with(crashed + "\"problem\": {\"layout\": \"bshd\"}")) ==
        value + "problem.shape' is missing");
  CHECK(fault_error(
            with(crashed + "\"problem\": {\"shape\": \"1,2,8,64\", \"layout\": \"out=9:9:9\"}"))
            .find("rows overlap: a stride of 9 elements is less than the 64 it steps over") !=
        std::string::npos);
}

TEST_CASE("mistakes in parameters are named") {
  check_mistakes({
      {"\"default\": 64", "\"default\": 96",
       "field 'parameters[0].default' is 96, which is not one of 32, 64, 128"},
      {"\"default\": \"warp\"", "\"default\": \"wrap\"",
       "field 'parameters[2].default' is wrap, which is not one of warp, serial"},
      {"\"default\": true", "\"default\": 1",
       "field 'parameters[3].default' is 1, which is not one of false, true"},
      {"\"default\": 64, ", "", "field 'parameters[0].default' is missing"},
      {"\"name\": \"BLOCK_N\"", "\"name\": \"BLOCK_M\"",
       "field 'parameters[1].name' defines BLOCK_M a second time"},
      {"\"name\": \"BLOCK_N\"", "\"name\": \"REDUCE_WARP\"",
       "field 'parameters[2].values[0]' defines REDUCE_WARP a second time"},
      {"\"name\": \"BLOCK_M\"", "\"name\": \"BATCH\"",
       "field 'parameters[0].name' is 'BATCH', a name that fatune defines itself"},
      {"\"name\": \"BLOCK_M\"", "\"name\": \"DTYPE_X\"",
       "field 'parameters[0].name' is 'DTYPE_X', a name that fatune defines itself"},
      {"\"name\": \"BLOCK_M\"", "\"name\": \"SOFTMAX_SCALE_LOG2E\"",
       "field 'parameters[0].name' is 'SOFTMAX_SCALE_LOG2E', a name that fatune defines itself"},
      {"\"name\": \"BLOCK_M\"", "\"name\": \"BLOCK-M\"",
       "field 'parameters[0].name' is 'BLOCK-M', not a name of letters, digits and _ only"},
      {"\"name\": \"BLOCK_M\"", "\"name\": \"min\"",
       "field 'parameters[0].name' is 'min', a word of expressions"},
      {"\"name\": \"BLOCK_M\"", "\"name\": \"for\"",
       "field 'parameters[0].name' is 'for', a keyword of C++"},
      {"[32, 64, 128]", "[]", "field 'parameters[0].values' must be a list of 1 to 4096 values"},
      {"[32, 64, 128]", "[32, 64, 64]", "field 'parameters[0].values[2]' repeats 64"},
      {"[32, 64, 128]", "[32, \"x\"]",
       "field 'parameters[0].values[1]' is \"x\", which is not of the kind of 32"},
      {"[32, 64, 128]", "[0.5]",
       "field 'parameters[0].values[0]' is 0.5, which is neither a whole number, a word (letters, "
       "digits, _ and -) nor true or false"},
      {"[\"warp\", \"serial\"]", "[\"warp\", \"Warp\"]",
       "field 'parameters[2].values[1]' defines REDUCE_WARP a second time"},
      {"\"meaning\": \"keys\"", "\"meaning\": \"\"",
       "field 'parameters[1].meaning' must not be empty"},
      {"\"meaning\": \"keys\"", "\"meanings\": \"keys\"",
       "field 'parameters[1].meanings' is unknown; did you mean 'meaning'?"},
      {"\"tiles are tall\"", "7", "field 'constraints[0].why' must be a string, but is number"},
      {"2 * BLOCK_N", "2 * BLOCK_K",
       "field 'constraints[0].require': 'BLOCK_M >= 2 * BLOCK_K' uses the unknown name 'BLOCK_K' "
       "(did you mean 'BLOCK_M'?)"},
      {"BLOCK_M >= 2 * BLOCK_N", "BLOCK_M = 2",
       "field 'constraints[0].require': 'BLOCK_M = 2' '=' at character 9 is not an operator; did "
       "you mean '=='?"},
  });
}

TEST_CASE("an expression as 'when' is short for one rule that prunes") {
  const auto manifest = parse_manifest(
      sample_with("\"meaning\": \"keys\"", "\"meaning\": \"keys\", \"when\": \"BLOCK_M > 32\""),
      "sample.json");
  REQUIRE(manifest);
  const Parameter& parameter = manifest->parameters[1];
  REQUIRE(parameter.when.size() == 1);
  CHECK(parameter.when[0].require == "BLOCK_M > 32");
  CHECK(parameter.when[0].prunes);
  CHECK(parameter.otherwise_position == parameter.default_position);
}

TEST_CASE("a manifest may name its schema for an editor") {
  CHECK(sample_error("{\n  \"schema\"", "{\n  \"$schema\": \"../kernel.1.json\", \"schema\"")
            .empty());
}

TEST_CASE("mistakes in conditional parameters are named") {
  const auto check = [](const std::string& addition, const std::string& message) {
    const std::string keys = "\"meaning\": \"keys\"";
    CHECK(sample_error(keys, keys + addition) == kFile + message);
  };
  check(R"(, "when": "BLOCK_M = 2")",
        "field 'parameters[1].when': 'BLOCK_M = 2' '=' at character 9 is not an operator; did you "
        "mean '=='?");
  check(R"(, "when": "BLOCK_X > 1")",
        "field 'parameters[1].when': 'BLOCK_X > 1' uses the unknown name 'BLOCK_X' (did you mean "
        "'BLOCK_M'?)");
  check(
      R"(, "when": "BLOCK_N > 1")",
      "field 'parameters[1].when': 'BLOCK_N > 1' depends on a parameter that is not listed before "
      "BLOCK_N");
  check(R"(, "when": [{"require": "REDUCE == 0", "why": "w"}])",
        "field 'parameters[1].when[0].require': 'REDUCE == 0' depends on a parameter that is not "
        "listed before BLOCK_N");
  check(R"(, "when": [{"why": "w"}])", "field 'parameters[1].when[0].require' is missing");
  check(R"(, "otherwise": 16)", "field 'parameters[1].otherwise' is for a parameter with 'when'");
  check(R"(, "when": "BLOCK_M > 1", "otherwise": 17)",
        "field 'parameters[1].otherwise' is 17, which is not one of 16, 32, 64");
}

TEST_CASE("mistakes in the launch are named") {
  check_mistakes({
      {"\"scores\", \"map_k\"]", "\"score\", \"map_k\"]",
       "field 'stages[0].arguments[4]' is 'score', which is unknown; did you mean 'scores'?"},
      {"\"q\", \"k\"", "\"weights\", \"k\"",
       "field 'stages[0].arguments[0]' is 'weights', which is not one of q, k, v, q_descale, "
       "k_descale, v_descale, bias, lengths, alibi, sink, tensors, out, lse, "
       "scores, map_k"},
      {"\"q\", \"k\", \"v\", \"out\", \"scores\", \"map_k\"", "",
       "field 'stages[0].arguments' must not be empty"},
      {"\"sample_main\"", "\"sample main\"",
       "field 'stages[0].entry' is 'sample main', not a function's name"},
      {"[\"BLOCK_M\", \"1\", \"1\"]", "[\"BLOCK_M\", \"1\"]",
       "field 'stages[0].block' must be three strings"},
      {"[\"BLOCK_M\", \"1\", \"1\"]", "[128, \"1\", \"1\"]",
       "field 'stages[0].block[0]' must be a string, but is number"},
      {"\"block\": [\"BLOCK_M\", \"1\", \"1\"],", "", "field 'stages[0].block' is missing"},
      {"ceil_div(SEQ_Q, BLOCK_M)", "ceil_div(SEQ, BLOCK_M)",
       "field 'stages[0].grid[0]': 'ceil_div(SEQ, BLOCK_M)' uses the unknown name 'SEQ' (did you "
       "mean 'SEQ_Q'?)"},
      {"\"shared_bytes\"", "\"sharde_bytes\"",
       "field 'stages[0].sharde_bytes' is unknown; did you mean 'shared_bytes'?"},
      {"\"name\": \"scores\"", "\"name\": \"out\"",
       "field 'scratch[0].name' is 'out', which names another argument already"},
      {"\"name\": \"scores\"", "\"name\": \"lse\"",
       "field 'scratch[0].name' is 'lse', which names another argument already"},
      {"\"tensor\": \"k\"", "\"tensor\": \"lse\"",
       "field 'tensor_maps[0].tensor' is 'lse', which is not one of q, k, v, out, scores"},
      {"\"out\", \"scores\"", "\"out\", \"lse\", \"scores\"",
       "field 'stages' have lse among their arguments, but supports.lse is not true"},
      {"[\"none\", \"causal\"],", "[\"none\", \"causal\"], \"lse\": true,",
       "field 'supports.lse' is true, but no stage has lse among its arguments"},
      {"\"name\": \"map_k\"", "\"name\": \"scores\"",
       "field 'tensor_maps[0].name' is 'scores', which names another argument already"},
      {"\"tensor\": \"k\"", "\"tensor\": \"keys\"",
       "field 'tensor_maps[0].tensor' is 'keys', which is not one of q, k, v, out, scores"},
      {"\"tensor\": \"k\"", "\"tensor\": \"scores\"", "field 'tensor_maps[0].sizes' is missing"},
      {"\"tensor\": \"k\"", "\"tensor\": \"k\", \"sizes\": [\"1\", \"1\", \"1\", \"1\"]",
       "field 'tensor_maps[0].sizes' are told for a scratch alone; those of k are the problem's"},
      {"[\"f16\", \"bf16\"],", "[\"f16\", \"bf16\"], \"quant\": \"fused\",",
       "field 'supports.quant' is fused, but 'dtypes' has others than e4m3 and e5m2"},
      {"\"swizzle\": 128", "\"swizzle\": 48",
       "field 'tensor_maps[0].swizzle' is 48, which is not one of 0, 32, 64, 128 or an expression"},
      {"[\"HEAD_DIM\", \"BLOCK_N\", \"1\", \"1\"]", "[\"HEAD_DIM\"]",
       "field 'tensor_maps[0].box' must be four strings"},
  });
  const std::string text(kSampleManifest);
  const std::string without = text.substr(0, text.find("\"stages\"")) + "\"stages\": []}";
  CHECK(parse_manifest(without, "sample.json").error().message ==
        kFile + "field 'stages' must not be empty");
}

TEST_CASE("a config is read back, and its mistakes are named") {
  const auto manifest = parse_manifest(kSampleManifest, "sample.json");
  REQUIRE(manifest);
  const auto read = [&](const char* text) {
    return config_from_json(*manifest, Json::parse(text), "best.json");
  };
  const auto config = read(R"({"REDUCE": "serial", "BLOCK_M": 128, "BLOCK_N": 16, "EXP2": false})");
  REQUIRE(config);
  CHECK(describe(*config) == "BLOCK_M=128 BLOCK_N=16 REDUCE=serial EXP2=false");
  CHECK(to_json(*config).dump() ==
        R"({"BLOCK_M":128,"BLOCK_N":16,"REDUCE":"serial","EXP2":false})");
  CHECK(*config_from_json(*manifest, to_json(*config), "again") == *config);
  CHECK(*read(R"({"REDUCE": "serial", "BLOCK_M": "128", "BLOCK_N": "16", "EXP2": "False"})") ==
        *config);
  CHECK(read(R"({"BLOCK_M": "1e2", "BLOCK_N": 16})").error().message ==
        "best.json: field 'BLOCK_M' is \"1e2\", which is not one of 32, 64, 128");
  CHECK(read(R"({"BLOCK_M": 128})").error().message == "best.json: field 'BLOCK_N' is missing");
  CHECK(read(R"({"BLOCK_M": 96, "BLOCK_N": 16, "REDUCE": "warp", "EXP2": true})").error().message ==
        "best.json: field 'BLOCK_M' is 96, which is not one of 32, 64, 128");
  CHECK(read(R"({"BLOCKM": 128})").error().message ==
        "best.json: field 'BLOCKM' is not a parameter of sample; did you mean 'BLOCK_M'?");
  CHECK(read("3").error().message ==
        "best.json: a config must be an object of parameters, but is number");
}

TEST_CASE("a kernel that writes the log-sum-exp says so, and takes a pointer to it") {
  std::string text =
      sample_with("[\"none\", \"causal\"],", "[\"none\", \"causal\"], \"lse\": true,");
  const std::string_view out = "\"out\", \"scores\"";
  text.replace(text.find(out), out.size(), "\"out\", \"lse\", \"scores\"");
  const auto manifest = parse_manifest(text, "sample.json");
  REQUIRE(manifest);
  CHECK(manifest->lse);
  CHECK(manifest->stages[0].arguments[4] == "lse");
  Attention problem = kMission;
  CHECK(unsupported_reason(*manifest, problem, limits_of("80"))->empty());
  problem.lse = true;
  CHECK(unsupported_reason(*manifest, problem, limits_of("80"))->empty());
  const auto without = parse_manifest(kSampleManifest, "sample.json");
  REQUIRE(without);
  CHECK(*unsupported_reason(*without, problem, limits_of("80")) ==
        "does not write the log-sum-exp (--lse)");
}

TEST_CASE("what a kernel cannot do is said in words") {
  const auto manifest = parse_manifest(kSampleManifest, "sample.json");
  REQUIRE(manifest);
  Attention problem = kMission;
  CHECK(unsupported_reason(*manifest, problem, limits_of("80"))->empty());
  CHECK(*unsupported_reason(*manifest, problem, limits_of("75")) ==
        "needs sm_80 or newer, not sm_75");
  problem.head_dim = 40;
  CHECK(*unsupported_reason(*manifest, problem, limits_of("80")) ==
        "needs HEAD_DIM % 16 == 0: one mma covers 16 columns");
  problem.dtype = Dtype::kE4m3;
  CHECK(*unsupported_reason(*manifest, problem, limits_of("80")) == "handles f16, bf16, not e4m3");
  const auto fp8 = parse_manifest(
      sample_with("[\"f16\", \"bf16\"],", "[\"e4m3\", \"e5m2\"], \"quant\": \"given\","),
      "sample.json");
  REQUIRE(fp8);
  problem.out_dtype = Dtype::kBf16;
  problem.quant = Quant::kFused;
  CHECK(*unsupported_reason(*fp8, problem, limits_of("80")) ==
        "takes q, k and v that are quantized already (--quant given)");
  // A kernel of both computes a 16-bit problem in 16 bits.
  const auto both =
      parse_manifest(sample_with("[\"f16\", \"bf16\"],", "[\"bf16\", \"e4m3\"],"), "sample.json");
  REQUIRE(both);
  problem.head_dim = 64;
  CHECK(unsupported_reason(*both, problem, limits_of("80"))->empty());
  const auto hopper =
      parse_manifest(sample_with("\"min\": 80", "\"only\": [\"sm_90a\"]"), "sample.json");
  REQUIRE(hopper);
  CHECK(unsupported_reason(*hopper, kMission, limits_of("90a"))->empty());
  CHECK(*unsupported_reason(*hopper, kMission, limits_of("100a")) ==
        "compiles for sm_90a only, not for sm_100a");
}

}  // namespace
}  // namespace fatune
