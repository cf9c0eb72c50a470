// trace_set_test.cpp - checks Definitions and Workloads of FlashInfer-Trace and SOL-ExecBench.
#include "model/interchange/trace_set.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/file.hpp"
#include "core/json.hpp"
#include "support/temporary_folder.hpp"

using namespace fatune;

namespace {

const std::string kInterchangeData = FATUNE_SOURCE_DIR "/tests/data/interchange/";

std::vector<std::string> suite_labels(const Result<Suite>& suite) {
  if (!suite) return {suite.error().message};
  std::vector<std::string> all;
  for (const NamedProblem& each : suite->problems) all.push_back(label(each));
  return all;
}

Json joint_attention() {
  const auto json = load_json(kInterchangeData + "sol/joint_attention/definition.json");
  REQUIRE(json);
  return *json;
}

std::string read_definition(const Json& json, const std::string& workload) {
  const auto parsed = parse_definition(dump(json), "d.json");
  if (!parsed) return parsed.error().message;
  const auto workloads = parse_workloads(workload, "w.jsonl");
  if (!workloads) return workloads.error().message;
  const auto problem = problem_of(*parsed, workloads->front(), "d.json");
  return problem ? describe(*problem) : problem.error().message;
}

const std::string kOneWorkload = R"({"uuid":"u","axes":{"batch":1,"text":24,"image":40}})";

}  // namespace

TEST_CASE("a folder of FlashInfer-Trace is a suite of its attention") {
  const auto suite = load_trace_set(kInterchangeData + "traces");
  CHECK(suite_labels(suite) ==
        std::vector<std::string>{
            "gqa_causal_h32_kv8_d128-1f0c9a52 2,32(kv 8),1024,128 bf16 causal bshd",
            "gqa_causal_h32_kv8_d128-77be0d11 8,32(kv 8),16x8192,128 bf16 causal bshd"});
  CHECK(suite->name == "traces");
}

TEST_CASE("a folder of SOL-ExecBench is a suite, from above or itself") {
  const std::vector<std::string> expected = {"joint_attention-a1 1,24,4608,64 f16",
                                             "joint_attention-b2 4,24,1178,64 f16"};
  CHECK(suite_labels(load_trace_set(kInterchangeData + "sol")) == expected);
  CHECK(suite_labels(load_trace_set(kInterchangeData + "sol/joint_attention/")) == expected);
}

TEST_CASE("a folder without definitions is an error") {
  CHECK(suite_labels(load_trace_set(kInterchangeData + "kernelbench"))
            .front()
            .find("holds no definitions") != std::string::npos);
  CHECK(suite_labels(load_trace_set(kInterchangeData + "traces/definitions/rmsnorm")).size() == 1);
}

TEST_CASE("more workloads than are read leave a definition out") {
  const test::TemporaryFolder folder;
  const auto text = read_file(kInterchangeData + "sol/joint_attention/definition.json");
  REQUIRE(text);
  REQUIRE(replace_file(folder / "definition.json", *text));
  std::string lines;
  for (int i = 0; i < 2001; ++i)
    lines += "{\"uuid\":\"u\",\"axes\":{\"batch\":1,\"text\":1,\"image\":1}}\n";
  REQUIRE(replace_file(folder / "workload.jsonl", lines));
  CHECK(suite_labels(load_trace_set(folder.path()))
            .front()
            .ends_with("has 2001 workloads, but at most 2000 are read"));
}

TEST_CASE("a definition alone wants constant axes") {
  Json json = joint_attention();
  const auto open = parse_definition(dump(json), "d.json");
  REQUIRE(open);
  CHECK(suite_labels(suite_of(*open, "d.json")).front() ==
        "d.json: has variable axes, but no workloads: name the folder that holds both");
  for (const char* axis : {"batch", "text", "image"})
    json["axes"][axis] = {{"type", "const"}, {"value", 32}};
  const auto closed = parse_definition(dump(json), "d.json");
  REQUIRE(closed);
  CHECK(suite_labels(suite_of(*closed, "d.json")).front() == "joint_attention 32,24,64,64 f16");
}

TEST_CASE("definitions that are not ours are refused by name") {
  CHECK(read_definition(joint_attention(), kOneWorkload) == "1,24,64,64 f16");
  Json json = joint_attention();
  json["inputs"]["bias"] = json["inputs"]["query"];
  CHECK(
      read_definition(json, kOneWorkload) ==
      "d.json: is of the tensors query, key, value, bias to out: attention here has three tensors "
      "in and one out");
  json = joint_attention();
  json["outputs"]["out"]["dtype"] = "float32";
  CHECK(read_definition(json, kOneWorkload) ==
        "d.json: 'out' is float32, 'query' is float16: kernels have one element type");
  json = joint_attention();
  for (const char* each : {"query", "key", "value"}) json["inputs"][each]["dtype"] = "float32";
  json["outputs"]["out"]["dtype"] = "float32";
  CHECK(read_definition(json, kOneWorkload).find("'float32' is none of the element types") !=
        std::string::npos);
  json = joint_attention();
  json["outputs"]["out"]["shape"] = {"batch", "seq", "heads", "head_dim"};
  CHECK(read_definition(json, kOneWorkload) ==
        "d.json: 'out' is declared as (1, 64, 24, 64), but its reference gives (1, 24, 64, 64)");
  json = joint_attention();
  json["reference"] = "x = 1";
  CHECK(read_definition(json, kOneWorkload) == "d.json: field 'reference' has no function run()");
}

TEST_CASE("fields that are missing or wrong are named") {
  Json json = joint_attention();
  json["axes"]["seq"]["expression"] = "text + lost";
  CHECK(read_definition(json, kOneWorkload).find("axis 'seq'") != std::string::npos);
  json["axes"]["seq"] = {{"type", "maybe"}};
  CHECK(read_definition(json, kOneWorkload) ==
        "d.json: field 'axes.seq.type' is 'maybe', not const, var or expr");
  json = joint_attention();
  json["inputs"]["key"]["shape"][0] = "b";
  CHECK(read_definition(json, kOneWorkload) ==
        "d.json: 'key' has the axis 'b', which is not declared");
  json.erase("reference");
  CHECK(read_definition(json, kOneWorkload).find("'reference'") != std::string::npos);
  CHECK(read_definition(joint_attention(), R"({"uuid":"u","axes":{"batch":1}})") ==
        "d.json: axis 'text' has no value");
  CHECK(read_definition(joint_attention(), R"({"uuid":"u","axes":{"batch":9e9}})")
            .find("line 1 of w.jsonl") != std::string::npos);
  CHECK(read_definition(joint_attention(), R"({"uuid":"u","axes":{"batch":-1,"text":1,"image":1}})")
            .find("batch must be at least 1") != std::string::npos);
  CHECK(read_definition(joint_attention(), "{").find("line 1 of w.jsonl") != std::string::npos);
}
