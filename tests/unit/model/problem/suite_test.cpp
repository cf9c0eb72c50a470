// suite_test.cpp: Checks the shipped suites and the errors of invalid suites.
#include "model/problem/suite.hpp"

#include <set>

#include <catch2/catch_test_macros.hpp>

#include "core/file.hpp"

using namespace fatune;

namespace {

Suite shipped(const std::string& name) {
  const std::string path = FATUNE_SOURCE_DIR "/configs/problems/" + name + ".json";
  const auto text = read_file(path);
  REQUIRE(text);
  auto suite = parse_suite(*text, path);
  INFO((suite ? "" : suite.error().message));
  REQUIRE(suite);
  CHECK(suite->name == name);
  CHECK_FALSE(suite->summary.empty());
  return *suite;
}

/// The error of a suite with this list of problems.
std::string fault(const std::string& problems) {
  const auto suite = parse_suite(
      R"({"schema":"fatune.problems/1","name":"s","problems":)" + problems + "}", "s.json");
  return suite ? "none" : suite.error().message;
}

}  // namespace

TEST_CASE("the mission suite is six shapes, full and causal") {
  const Suite suite = shipped("mission");
  REQUIRE(suite.problems.size() == 12);
  CHECK(suite.problems[0].name == "mission");
  CHECK(describe(suite.problems[0].problem) == "4,8,512,64 f16");
  CHECK(suite.problems[1].name == "mission-causal");
  CHECK(describe(suite.problems[1].problem) == "4,8,512,64 f16 causal");
  CHECK(describe(suite.problems[10].problem) == "2,16,8192,128 f16");
}

TEST_CASE("the fa3 suite is 36 problems of 16384 tokens") {
  const Suite suite = shipped("fa3");
  REQUIRE(suite.problems.size() == 36);
  std::set<std::int64_t> head_dims;
  for (const NamedProblem& named : suite.problems) {
    CAPTURE(named.name);
    const Attention& p = named.problem.as_attention();
    CHECK(p.batch * p.seq_q == 16384);
    CHECK(p.heads * p.head_dim == 2048);
    CHECK(named.name.ends_with("-causal") == (p.mask == Mask::kCausal));
    head_dims.insert(p.head_dim);
  }
  CHECK(head_dims == std::set<std::int64_t>{64, 128, 256});
}

TEST_CASE("the models suite has at least 24 problems with the layouts of their models") {
  const Suite suite = shipped("models");
  CHECK(suite.problems.size() >= 24);
  const auto described = [&](const std::string& name) {
    for (const NamedProblem& named : suite.problems) {
      if (named.name == name) return describe(named.problem);
    }
    return "no " + name;
  };
  CHECK(described("gpt2-medium") == "4,16,1024,64 f16 causal packed");
  CHECK(described("falcon-7b-prefill") == "1,71(kv 1),2048,64 bf16 causal packed");
}

TEST_CASE("the variants suite has each kind of mask, and head dims of all sizes") {
  const Suite suite = shipped("variants");
  CHECK(suite.problems.size() >= 24);
  CHECK(suite.left_out.empty());
  std::set<MaskKind> kinds;
  std::set<std::int64_t> head_dims;
  for (const NamedProblem& named : suite.problems) {
    for (const MaskKind kind : kinds_of(named.problem.as_attention().mask)) kinds.insert(kind);
    head_dims.insert(named.problem.as_attention().head_dim);
  }
  CHECK(kinds.size() == 8);
  CHECK(head_dims ==
        std::set<std::int64_t>{32, 40, 64, 72, 80, 88, 96, 104, 112, 128, 160, 192, 256});
}

TEST_CASE("the decode suite has few queries and many keys") {
  const Suite suite = shipped("decode");
  REQUIRE(suite.problems.size() == 8);
  CHECK(describe(suite.problems[0].problem) == "8,32(kv 8),1x32768,128 f16");
  for (const NamedProblem& named : suite.problems) {
    CAPTURE(named.name);
    const Attention& p = named.problem.as_attention();
    CHECK(p.seq_q <= 64);
    CHECK(p.seq_kv >= 4096);
    CHECK(named.name.ends_with("-causal") == (p.mask == Mask::kCausal));
  }
}

TEST_CASE("a problem may set everything") {
  const auto suite = parse_suite(
      R"({"schema":"fatune.problems/1","name":"s","problems":[{"name":"decode","shape":"4,8,1,64",
          "kv_heads":2,"seq_kv":512,"dtype":"bf16","causal":true,"lse":true}]})",
      "s.json");
  REQUIRE(suite);
  CHECK(describe(suite->problems.at(0).problem) == "4,8(kv 2),1x512,64 bf16 causal lse");
}

TEST_CASE("a captured suite says what was seen and which scale") {
  const auto suite = parse_suite(
      R"({"schema":"fatune.problems/1","name":"s","capture":{"calls":[]},"problems":[
          {"name":"a","shape":"4,8,1500,64","scale":1.0},{"name":"b","shape":"4,8,1500,64","scale":0.125}]})",
      "s.json");
  REQUIRE(suite);
  CHECK(describe(suite->problems.at(0).problem) == "4,8,1500,64 f16 scale 1");
  CHECK_FALSE(suite->problems.at(1).problem.as_attention().scale);
  CHECK(slug(suite->problems.at(0).problem) == "4-8-1500-64-f16-scale1");
  CHECK(fault(R"([{"name":"a","shape":"1,1,1,64","scale":0}])") ==
        "s.json: field 'problems[0]' scale must be a number greater than 0, not 0");
}

TEST_CASE("a problem may change scores by an expression, in one spelling") {
  const auto suite = parse_suite(
      R"text({"schema":"fatune.problems/1","name":"s","problems":[
          {"name":"a","shape":"1,2,8,64","score":"logits+0.5*(kv_idx-q_idx)"},
          {"name":"b","shape":"1,2,8,64","score":"20 * tanh(score / 20)"},
          {"name":"c","shape":"1,2,8,64","score":"score +"}]})text",
      "s.json");
  REQUIRE(suite);
  REQUIRE(suite->problems.size() == 2);
  CHECK(suite->problems[0].problem.as_attention().score == "score + 0.5 * (k - q)");
  CHECK(suite->problems[1].problem.as_attention().score.empty());
  CHECK(suite->problems[1].problem.as_attention().softcap == 20.0);
  REQUIRE(suite->left_out.size() == 1);
  CHECK(suite->left_out.front().starts_with("c: "));
}

TEST_CASE("a problem that contradicts itself is left out beside others") {
  const auto suite = parse_suite(
      R"({"schema":"fatune.problems/1","name":"s","problems":[
          {"name":"a","shape":"1,1,1,64","scale":-1},{"name":"b","shape":"1,1,1,64"},
          {"name":"c","shape":"1,1,1,64","layout":"q=packed"},
          {"name":"d","shape":"1,1,1,64","scale":Infinity}]})",
      "s.json");
  REQUIRE(suite);
  REQUIRE(suite->problems.size() == 1);
  CHECK(suite->problems.front().name == "b");
  CHECK(suite->left_out ==
        std::vector<std::string>{"a: scale must be a number greater than 0, not -1",
                                 "c: q, k and v are packed together, or none of them is",
                                 "d: scale must be from 1e-30 to 100000 for f16, not inf"});
}

TEST_CASE("errors name file and field") {
  const std::string good = R"({"name":"a","shape":"1,1,1,64"})";
  CHECK(fault("[" + good + "]") == "none");
  CHECK(fault("[]") == "s.json: field 'problems' must not be empty");
  CHECK(fault("[1]") == "s.json: field 'problems[0]' must be an object, but is number");
  CHECK(fault(R"([{"name":"a","shape":"1,1,0,64"}])") ==
        "s.json: field 'problems[0].shape' 1,1,0,64: seq must be at least 1 (third part)");
  CHECK(fault(R"([{"name":"a"}])") == "s.json: field 'problems[0].shape' is missing");
  CHECK(fault(R"([{"name":"","shape":"1,1,1,64"}])") ==
        "s.json: field 'problems[0].name' must not be empty");
  CHECK(fault(R"([{"name":"a","shape":"1,1,1,64","casual":true}])") ==
        "s.json: field 'problems[0].casual' is unknown; did you mean 'causal'?");
  CHECK(fault(R"([{"name":"a","shape":"1,8,1,64","kv_heads":3}])") ==
        "s.json: field 'problems[0]' kv_heads must divide heads, but 3 does not divide 8");
  CHECK(
      fault(R"([{"name":"a","shape":"1,1,1,64","dtype":"e4m4"}])") ==
      "s.json: field 'problems[0].dtype' is wrong: dtype 'e4m4' is unknown; did you mean 'e4m3'?");
  CHECK(fault("[" + good + "," + good + "]") ==
        "s.json: field 'problems[1].name' 'a' is used twice");
  CHECK(fault("[" + good + R"(,{"name":"b","shape":"1,1,1,64"}])") ==
        "s.json: field 'problems[1].shape' is the same problem as 'a'");
}

TEST_CASE("a suite may name its schema for an editor") {
  CHECK(parse_suite(R"({"$schema":"problems.1.json","schema":"fatune.problems/1","name":"s",
                        "problems":[{"name":"a","shape":"4,8,512,64"}]})",
                    "s.json"));
}

TEST_CASE("another schema is refused by name") {
  CHECK(parse_suite(R"({"schema":"fatune.problems/2"})", "s.json").error().message ==
        "s.json: is a fatune.problems/2, written by a newer fatune; this one reads "
        "fatune.problems/1. "
        "Update fatune to read it");
  CHECK(parse_suite("{", "s.json").error().kind == ErrorKind::kFile);
}
