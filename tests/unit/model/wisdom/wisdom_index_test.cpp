// wisdom_index_test.cpp: Checks that an index holds the written facts and the hash that seals them.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "core/hash.hpp"
#include "model/wisdom/kernel_facts.hpp"

using namespace fatune;
using Catch::Matchers::ContainsSubstring;

namespace {

KernelFacts facts_with(const std::string& id) {
  KernelFacts facts;
  facts.kernel = "fa_test";
  facts.config = R"({"BLOCK_M":128})";
  facts.id = id;
  facts.arch = "sm_90a";
  facts.compute_major = 9;
  facts.cubin = {id + ".cubin", sha256_hex(id), 10};
  facts.stages.emplace_back().entry = "attend";
  facts.scale = 0.125;
  return facts;
}

}  // namespace

TEST_CASE("an index that is read back has the kernels that were written, in their order") {
  const std::string text =
      write_wisdom_index(std::vector{facts_with("first"), facts_with("second")}, "0.1.0");
  const auto index = read_wisdom_index(text, "index.json");
  REQUIRE(index);
  CHECK(index->intact);
  REQUIRE(index->kernels.size() == 2);
  CHECK(index->kernels[0].id == "first");
  CHECK(dump(to_json(index->kernels[1])) == dump(to_json(facts_with("second"))));
}

TEST_CASE("the seal is the hash of the kernels on one line") {
  const auto document =
      parse_json(write_wisdom_index(std::vector{facts_with("first")}, "0.1.0"), "index.json");
  REQUIRE(document);
  CHECK(document->at("sha256") == sha256_hex(document->at("kernels").dump()));
}

TEST_CASE("an index whose kernels are not those of its hash is not read any further") {
  std::string text = write_wisdom_index(std::vector{facts_with("first")}, "0.1.0");
  text.replace(text.find("sm_90a"), 6, "sm_80a");
  const auto index = read_wisdom_index(text, "index.json");
  REQUIRE(index);
  CHECK_FALSE(index->intact);
  CHECK(index->kernels.empty());
}

TEST_CASE("kernels that libfatune_rt cannot launch are refused by the reader, too") {
  const auto problem = [](const KernelFacts& facts) {
    const auto index = read_wisdom_index(write_wisdom_index(std::vector{facts}, "0.1.0"), "i.json");
    REQUIRE_FALSE(index);
    CHECK(index.error().kind == ErrorKind::kFile);
    return index.error().message;
  };
  KernelFacts fp8 = facts_with("fp8");
  fp8.problem.as_attention().dtype = Dtype::kE4m3;
  fp8.problem.as_attention().out_dtype = Dtype::kBf16;
  CHECK(problem(fp8) ==
        "i.json: field 'kernels[0]': is for fp8, but libfatune_rt passes no factors");
  KernelFacts fused = facts_with("fused");
  fused.problem.as_attention().quant = Quant::kFused;
  CHECK_THAT(why_not_in_wisdom(fused), ContainsSubstring("quantizes"));
  KernelFacts mapped = facts_with("mapped");
  mapped.scratch.push_back({"partials", 1024});
  mapped.tensor_maps.emplace_back().tensor = "partials";
  CHECK_THAT(why_not_in_wisdom(mapped), ContainsSubstring("maps its scratch partials"));
  CHECK(why_not_in_wisdom(facts_with("plain")).empty());
}

TEST_CASE("text that is no index of this version names what is wrong") {
  const auto problem = [](const std::string& text) {
    const auto index = read_wisdom_index(text, "w/index.json");
    REQUIRE_FALSE(index);
    return index.error().message;
  };
  CHECK_THAT(problem("{"), ContainsSubstring("w/index.json: not valid JSON"));
  CHECK_THAT(problem("[]"), ContainsSubstring("w/index.json"));
  CHECK_THAT(problem(R"({"schema":"fatune.best/1"})"), ContainsSubstring("not fatune.wisdom/1"));
  CHECK_THAT(problem(R"({"schema":"fatune.wisdom/2"})"), ContainsSubstring("a newer fatune"));
  CHECK_THAT(problem(R"({"schema":"fatune.wisdom/1"})"), ContainsSubstring("'sha256' is missing"));
  CHECK_THAT(problem(R"({"schema":"fatune.wisdom/1","sha256":"","kernels":{}})"),
             ContainsSubstring("'kernels' must be a list"));
}
