// named_tensor_test.cpp: Checks tensors that expressions read: texts, proofs, sizes and identity.
#include "model/problem/named_tensor.hpp"

#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "core/fields.hpp"
#include "model/kernel/candidate.hpp"
#include "model/kernel/operation.hpp"
#include "model/problem/rule.hpp"
#include "model/problem/rule_keys.hpp"
#include "model/problem/suite.hpp"
#include "support/problem_text.hpp"
#include "support/sample_kernel.hpp"

namespace fatune {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::string kDocuments = "1,2,70,64 f16 causal&&doc[q]==doc[k] tensor doc=i32[70]:0*33,1*37";

NamedTensor tensor_of(std::string_view text) { return *parse_named_tensor(text); }

/// Returns why the problem of this mask and score is refused; empty if it is not.
std::string fault_of(const std::string& mask, const std::string& score,
                     const std::vector<std::string>& tensors) {
  Attention problem{.batch = 2, .heads = 4, .kv_heads = 2, .seq_q = 70, .seq_kv = 90};
  for (const std::string& each : tensors) problem.tensors.push_back(tensor_of(each));
  problem.mask = *parse_mask(mask);
  if (const Status set = set_score(problem, score); !set) return set.error().message;
  const Status valid = validate(problem);
  return valid ? "" : valid.error().message;
}

TEST_CASE("a named tensor has one spelling") {
  CHECK(name(tensor_of(" doc = i32[6] : 0, 0*2 ,1,1*2")) == "doc=i32[6]:0*3,1*3");
  CHECK(name(tensor_of("t=i32[2][1][3]:-7*6")) == "t=i32[2][1][3]:-7*6");
  CHECK(name(tensor_of("table=f32[16][1023]")) == "table=f32[16][1023]");
  CHECK(name(tensor_of("t=f32[3]:0.1,-2,1e30")) == "t=f32[3]:0.1,-2,1e+30");
  for (const char* text : {"t=f32[3]:0.1,-2,1e+30", "doc=i32[6]:0*3,1*3"})
    CHECK(tensor_of(text) == tensor_of(name(tensor_of(text))));
}

TEST_CASE("a declaration has no values") {
  CHECK(declaration_of(tensor_of("t=i32[2][3]:-7*6")) == "t=i32[2][3]");
  const NamedTensor declared = *parse_declaration(" t = i32[2][3]");
  CHECK(name(declared) == "t=i32[2][3]");
  CHECK(declared.values(0, 0).most == kMostWhole);
  CHECK(*parse_declaration("t=i32[2][3]:-7*6") == declared);
  CHECK(*parse_declaration("t=f32[3]:0.1,-2,1e30") == tensor_of("t=f32[3]"));
  Attention p = test::problem("2,1,4,64 f16 k<t[b] tensor t=i32[2]:4,0");
  p.tensors = {*parse_declaration("t=i32[2]")};
  CHECK(validate(p));
  p.tensors = {tensor_of("t=i32[2]:0,-1")};
  CHECK_THAT(validate(p).error().message, ContainsSubstring("mask k < t[b] hides every key"));
}

TEST_CASE("texts of named tensors are refused with what would be right") {
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"doc", "is not of the form NAME=TYPE[SIZE]:VALUES"},
      {"2doc=i32[4]:0*4", "has '2doc' for a name; up to 64 letters"},
      {"score=f32[4]", "has 'score' for a name, which expressions reserve"},
      {"kv_idx=i32[4]:0*4", "which expressions reserve"},
      {"document=i32[4]:0*4", "begins like a mask's lengths"},
      {"doc=i64[4]:0*4", "has the type 'i64[4]', not i32[SIZE] or f32[SIZE]"},
      {"doc=i32:0*4", "has the type 'i32'"},
      {"doc=i32[0]:0", "has the size '0'"},
      {"doc=i32[4096][4097]:0", "has more than 16777216 elements"},
      {"doc=i32[1][1][1][1]:0", "has 4 sizes, but at most 3"},
      {"doc=i32[4]", "has no values; give i32 some, such as :0*4"},
      {"doc=i32[4]:0*3", "has 3 values, but 4 elements"},
      {"doc=i32[4]:1.5*4", "has the value '1.5', not a whole number"},
      {"doc=i32[4]:1073741824*4", "not a whole number from -1073741823 to 1073741823"},
      {"doc=i32[4]:0*x", "repeats a value 'x' times"},
      {"t=f32[4]:nan*4", "not a finite fp32 number"},
  };
  for (const auto& [text, wanted] : texts) {
    const auto parsed = parse_named_tensor(text);
    INFO(text);
    REQUIRE_FALSE(parsed);
    CHECK_THAT(parsed.error().message, ContainsSubstring(wanted));
  }
}

TEST_CASE("indices of named tensors are proven") {
  const std::string doc = "doc=i32[90]:0*40,1*50", table = "table=f32[4][159]";
  CHECK(fault_of("doc[q] == doc[k]", "", {doc}).empty());
  CHECK(fault_of("none", "score + table[h][k - q + 69]", {table}).empty());
  CHECK(fault_of("two[max(0, min(doc[k], 1))] > q", "", {doc, "two=i32[2]:40,90"}).empty());
  CHECK(fault_of("none", "score + min(doc[k], 3.5)", {doc}).empty());
  CHECK(fault_of("none", "score + table[h][k - q]", {table}) ==
        "score 'score + table[h][k - q]': index 2 of 'table' is from -69 to 89, but must be from 0 "
        "to 158: use min and max");
  CHECK_THAT(fault_of("doc[q] == doc[k]", "", {"doc=i32[70]:0*70"}),
             ContainsSubstring("index 1 of 'doc' is from 0 to 89, but must be from 0 to 69"));
  CHECK_THAT(fault_of("doc[q] == doc[k]", "", {}),
             ContainsSubstring("reads the tensor 'doc', which is not declared"));
  CHECK_THAT(fault_of("doc[q][0] == 1", "", {doc}),
             ContainsSubstring("'doc' has an index for each size: 1, not 2"));
  CHECK_THAT(fault_of("k / doc[q] < 3", "", {doc}), ContainsSubstring("may divide by 0"));
  CHECK(fault_of("doc[q] - doc[k] < 3", "", {doc}).empty());
  CHECK_THAT(fault_of("table[h][k] < 3", "", {table}),
             ContainsSubstring("'table' is f32, but masks read i32 only"));
  CHECK_THAT(fault_of("none", "score + doc[score]", {doc}),
             ContainsSubstring("an index of 'doc' is no whole number"));
  CHECK_THAT(
      fault_of("none", "score", {doc}),
      ContainsSubstring("tensors has 'doc', which neither mask nor score reads as doc[...]"));
  CHECK_THAT(fault_of("doc[k] == 0", "", {doc, doc}), ContainsSubstring("tensors has 'doc' twice"));
}

TEST_CASE("proofs hold for all values, which kernels read at run time") {
  const std::string ones = "doc=i32[90]:1*90";
  CHECK_THAT(fault_of("k / doc[q] < 3", "", {ones}), ContainsSubstring("may divide by 0"));
  CHECK_THAT(fault_of("two[doc[k]] > q", "", {ones, "two=i32[2]:40,90"}),
             ContainsSubstring("index 1 of 'two' is from -1073741823 to 1073741823, but must be"));
  CHECK_THAT(fault_of("doc[q] * 4 > k", "", {ones}), ContainsSubstring("numbers have 32 bits"));
}

TEST_CASE("expressions with tensors become text, code and calls") {
  Attention p = test::problem(
      "1,4,70,64 f16 none score score+min(t[h][q-k+69],3) tensor "
      "t=f32[4][139]");
  CHECK(p.score == "score + min(t[h][q - k + 69], 3)");
  const PairRule rule = PairRule::of(p.score, RuleKind::kScore, p.tensors);
  CHECK(rule.code(p) ==
        "score + min(element(tensors, tensors.tensor_t, 556, (h) * Int(139) + (q - k + Int(69))), "
        "float(Int(3)))");
  CHECK(rule.calls() ==
        "o[\"+\"](score, o[\"min\"](o[\"[\"](t[\"t\"], h, o[\"+\"](o[\"-\"](q, k), 69)), 3))");
}

TEST_CASE("values of tensors count for masks as lengths do") {
  const Attention by_tensor = test::problem(kDocuments);
  const Attention by_lengths = test::problem("1,2,70,64 f16 causal+document:33,37");
  CHECK(visible_pairs(by_tensor) == visible_pairs(by_lengths));
  CHECK(seen_keys(by_tensor) == seen_keys(by_lengths));
  CHECK(least_bytes(by_tensor).value == least_bytes(test::problem("1,2,70,64 f16")).value);
  const PairRule rule = PairRule::of(by_tensor.mask.rule, RuleKind::kMask);
  CHECK(rule.shows(by_tensor, {{0, 0}, {0, 1}, {0, 32}, {0, 32}}) == true);
  CHECK(rule.shows(by_tensor, {{0, 0}, {0, 1}, {0, 32}, {33, 69}}) == false);
  CHECK(!rule.shows(by_tensor, {{0, 0}, {0, 1}, {0, 33}, {33, 69}}).has_value());
}

TEST_CASE("machine code depends on the names, types and shapes of tensors alone") {
  const auto candidate_of = [](const std::string& values) {
    Candidate made = sample_candidate();
    made.problem = test::problem("1,2,70,64 f16 doc[q]==doc[k] tensor doc=i32[70]:" + values);
    return made;
  };
  const Candidate one = candidate_of("0*33,1*37"), other = candidate_of("0*10,1,9*59");
  CHECK(macros_of(one, limits_of("sm_90a")) == macros_of(other, limits_of("sm_90a")));
  CHECK(key(one.problem) != key(other.problem));
  CHECK(slug(one.problem) != slug(other.problem));
}

TEST_CASE("records and suites keep tensors") {
  const Attention problem = test::problem(kDocuments);
  const Json json = to_json(Problem(problem));
  const auto read = read_value<Problem>(json, "record");
  REQUIRE(read);
  CHECK(read->as_attention() == problem);
  const auto suite = parse_suite(
      R"({"schema":"fatune.problems/1","name":"s","problems":[{"name":"one","shape":"1,2,70,64",
          "mask":"causal && doc[q] == doc[k]","tensors":["doc=i32[70]:0*33,1*37"]}]})",
      "suite");
  REQUIRE(suite);
  CHECK(suite->problems.front().problem.as_attention() == problem);
}

TEST_CASE("tensors follow the sizes of edge problems") {
  const Attention from = test::problem(kDocuments);
  Attention to = from;
  to.seq_q = 17;
  to.seq_kv = 35;
  CHECK(name(resized(from.tensors.front(), from, to)) == "doc=i32[35]:0*17,1*18");
  for (const char* text :
       {"1,2,70,64 f16 causal&&doc[q]==doc[k] tensor doc=i32[70]:0*33,1*37",
        "4,16,512,64 f16 none score score+table[h][k-q+511] tensor table=f32[16][1023]"}) {
    const auto problems = attention()->edge_problems(test::problem(text), 42);
    REQUIRE(problems);
    bool reads = false;
    for (const EdgeProblem& each : *problems) {
      INFO(describe(each.problem));
      CHECK(validate(each.problem.as_attention()));
      reads = reads || !each.problem.as_attention().tensors.empty();
    }
    CHECK(reads);
  }
}

}  // namespace
}  // namespace fatune
