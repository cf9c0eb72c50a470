// kernel_facts_test.cpp: Checks that launch facts survive JSON, and that unsafe files are refused.
#include "model/wisdom/kernel_facts.hpp"

#include <functional>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"

using namespace fatune;

namespace {

KernelFacts example() {
  KernelFacts facts;
  facts.kernel = "fa_wgmma";
  facts.config = R"({"BLOCK_M":128,"LAUNCH":"chained"})";
  facts.id = "1671cb815c482c76";
  facts.problem = Attention{.batch = 4, .heads = 8, .kv_heads = 2, .seq_q = 512, .seq_kv = 256};
  facts.arch = "sm_90a";
  facts.compute_major = 9;
  facts.exact_compute = true;
  facts.cubin = {"fa.cubin", std::string(64, 'a'), 4096};
  facts.stages = {{.entry = "fa_wgmma",
                   .grid = {132, 1, 1},
                   .block = {384, 1, 1},
                   .cluster = {2, 1, 1},
                   .shared_bytes = 147608,
                   .static_shared_bytes = 0,
                   .dependent = true,
                   .arguments = {"out", "lse", "map_k", "part"}}};
  facts.tensor_maps = {{.name = "map_k",
                        .tensor = "k",
                        .element = MapElement::kF16,
                        .sizes = {64, 256, 2, 4},
                        .strides_bytes = {128, 32768, 65536},
                        .box = {64, 128, 1, 1},
                        .swizzle_bytes = 128}};
  facts.scratch = {{"part", 1024}};
  facts.scale = 0.125;
  facts.verified = true;
  facts.measured = MeasuredFacts{6.28, std::array<double, 2>{6.27, 6.29}, "cudnn", 0.644};
  facts.recorded = true;
  facts.device_name = "NVIDIA H200";
  facts.driver = "580.159.04";
  facts.sm_count = 132;
  facts.nvrtc = "13.0.88";
  facts.fatune = "0.1.0";
  facts.command = "fatune sweep --shape 4,8,512,64";
  return facts;
}

/// The reader's complaint about the example after a change.
std::string complaint(const std::function<void(Json&)>& change) {
  Json json = to_json(example());
  change(json);
  const auto facts = read_value<KernelFacts>(json, "x.json");
  REQUIRE_FALSE(facts);
  return facts.error().message;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("launch facts come back as they were") {
  const KernelFacts facts = example();
  const auto again = read_value<KernelFacts>(to_json(facts), "x.json");
  REQUIRE(again);
  CHECK(dump(to_json(*again)) == dump(to_json(facts)));
  CHECK(again->stages.front().arguments == facts.stages.front().arguments);
  CHECK(again->measured->ratio == 0.644);
}

TEST_CASE("what was not measured is null") {
  KernelFacts facts = example();
  facts.measured.reset();
  CHECK(to_json(facts).at("measured").is_null());
  const auto again = read_value<KernelFacts>(to_json(facts), "x.json");
  REQUIRE(again);
  CHECK_FALSE(again->measured);
}

TEST_CASE("code for sm_90a runs there alone, plain code on later minor versions too") {
  KernelFacts facts = example();
  CHECK(runs_on(facts, 9, 0));
  CHECK_FALSE(runs_on(facts, 9, 1));
  CHECK_FALSE(runs_on(facts, 10, 0));
  facts.compute_major = 8;
  facts.exact_compute = false;
  CHECK(runs_on(facts, 8, 0));
  CHECK(runs_on(facts, 8, 9));
  CHECK_FALSE(runs_on(facts, 9, 0));
  facts.compute_minor = 6;
  CHECK_FALSE(runs_on(facts, 8, 0));
}

TEST_CASE("a map covers the tensor where the problem's layout puts it") {
  Attention problem{4, 8, 2, 512, 512, 64};
  CHECK(map_of("k", problem).strides_bytes == std::array<std::int64_t, 3>{128, 65536, 131072});
  problem.layouts = *parse_layouts("packed");
  const TensorMapFacts packed = map_of("k", problem);
  CHECK(packed.sizes == std::array<std::int64_t, 4>{64, 512, 2, 4});
  CHECK(packed.strides_bytes == std::array<std::int64_t, 3>{12 * 128, 128, 512 * 12 * 128});
  CHECK(map_of("out", problem).strides_bytes ==
        std::array<std::int64_t, 3>{8 * 128, 128, 512 * 8 * 128});
  problem.batch = 1;
  problem.layouts = *parse_layouts("q=3:40000:72");
  CHECK(map_of("q", problem).strides_bytes ==
        std::array<std::int64_t, 3>{144, 80000, 8 * 512 * 128});
}

TEST_CASE("a damaged or made-up launch is refused, with file and field") {
  CHECK(contains(complaint([](Json& j) { j["schema"] = "fatune.launch/2"; }), "newer fatune"));
  CHECK(contains(complaint([](Json& j) { j["schema"] = "else"; }), "x.json: field 'schema'"));
  CHECK(contains(complaint([](Json& j) { j.erase("stages"); }), "'stages'"));
  CHECK(contains(complaint([](Json& j) {
                   j["stages"][0]["grid"] = {0, 1, 1};
                 }),
                 "'stages[0].grid[0]'"));
  CHECK(contains(complaint([](Json& j) {
                   j["stages"][0]["grid"] = {1, 1};
                 }),
                 "'stages[0].grid' must be three whole numbers"));
  CHECK(contains(complaint([](Json& j) {
                   j["stages"][0]["grid"] = {18446744073709551615ULL, 1, 1};
                 }),
                 "'stages[0].grid[0]'"));
  CHECK(contains(complaint([](Json& j) {
                   j["stages"][0]["block"] = {1024, 2, 1};
                 }),
                 "over 1024 threads"));
  CHECK(contains(complaint([](Json& j) {
                   j["stages"][0]["cluster"] = {5, 1, 1};
                 }),
                 "does not divide the grid"));
  CHECK(contains(complaint([](Json& j) {
                   j["stages"][0]["grid"] = {132, 16, 1};
                   j["stages"][0]["cluster"] = {2, 16, 1};
                 }),
                 "over 16 blocks"));
  CHECK(contains(complaint([](Json& j) { j["stages"][0]["arguments"] = {"mystery"}; }),
                 "'mystery' of fa_wgmma"));
  CHECK(contains(complaint([](Json& j) { j["stages"][0]["arguments"] = {"i32 8"}; }),
                 "'i32 8' of fa_wgmma"));
  CHECK(contains(complaint([](Json& j) { j["stages"][0]["entry"] = "a;b"; }), "identifier"));
  CHECK(contains(complaint([](Json& j) { j["scratch"][0]["name"] = "q"; }), "named twice"));
  CHECK(contains(complaint([](Json& j) {
                   j["tensor_maps"][0]["sizes"] = {64, 512, 2, 4};
                 }),
                 "not those of k"));
  CHECK(contains(complaint([](Json& j) { j["tensor_maps"][0]["strides_bytes"][0] = 256; }),
                 "not those of k in bhsd"));
  CHECK(contains(complaint([](Json& j) { j["tensor_maps"][0]["box"][0] = 257; }), "box"));
  CHECK(contains(complaint([](Json& j) { j["tensor_maps"][0]["element"] = "bf16"; }), "element"));
  CHECK(contains(complaint([](Json& j) { j["tensor_maps"][0]["swizzle_bytes"] = 48; }), "swizzle"));
  CHECK(contains(complaint([](Json& j) { j["cubin"]["file"] = "../x.cubin"; }), "plain file name"));
  CHECK(contains(complaint([](Json& j) { j["cubin"]["sha256"] = "XYZ"; }), "64 lower-case"));
  CHECK(contains(complaint([](Json& j) { j["problem"]["kv_heads"] = 3; }), "kv_heads"));
  CHECK(contains(complaint([](Json& j) {
                   j["problem"] = {{"operation", "rmsnorm"}, {"sizes", {{"ROWS", 8}}}};
                 }),
                 "'problem.operation'"));
  CHECK(contains(complaint([](Json& j) { j["measured"]["ci95_us"] = {1}; }), "two numbers"));
  CHECK(contains(complaint([](Json& j) { j["measured"]["hot_us"] = 0; }), "more than 0"));
  CHECK(contains(complaint([](Json& j) { j["measured"]["ratio"] = -1; }), "more than 0"));
  CHECK(contains(complaint([](Json& j) { j["measured"]["us"] = -5; }), "more than 0"));
  CHECK(contains(complaint([](Json& j) {
                   j["tensor_maps"][0]["tensor"] = j["scratch"][0]["name"];
                   j["tensor_maps"][0]["sizes"] = {2147483647, 2147483647, 2147483647, 2147483647};
                 }),
                 "exceed"));
}

TEST_CASE("a custom operation's constants are whole inputs") {
  KernelFacts facts = example();
  facts.problem = CustomProblem{.operation = "smooth", .sizes = {{"n", 8}}};
  facts.tensor_maps = {};
  facts.tensors = {{"x", "f64", {8}, {1}, false}, {"y", "bool", {8}, {1}, true}};
  facts.stages.front().arguments = {"y", "part", "i32 8"};
  facts.constants = {{"c_x", "x", 64}};
  const auto again = read_value<KernelFacts>(to_json(facts), "x.json");
  REQUIRE(again);
  CHECK(again->constants.front().symbol == "c_x");
  CHECK(again->stages.front().arguments.back() == "i32 8");
  CHECK_FALSE(again->problem.custom()->dtype);
  const auto fault = [&](ConstantFacts constant) {
    facts.constants = {std::move(constant)};
    return read_value<KernelFacts>(to_json(facts), "x.json").error().message;
  };
  CHECK(contains(fault({"c_x", "y", 8}), "'y' is no input"));
  CHECK(contains(fault({"c_x", "x", 8}), "c_x has 8 bytes, x has 64"));
  CHECK(contains(fault({"c;x", "x", 64}), "a variable's name"));
}
