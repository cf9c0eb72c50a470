// problem_book_test.cpp: Tests ids and statements of problems.
#include "judge/referee/problem_book.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"
#include "judge/services.hpp"

using namespace fatune;
using Catch::Matchers::ContainsSubstring;

namespace {

const Attention kWide{
    .batch = 4, .heads = 8, .kv_heads = 8, .seq_q = 512, .seq_kv = 512, .head_dim = 128};

ProblemBook two_problems() {
  Attention causal = kWide;
  causal.mask = Mask::kCausal;
  causal.kv_heads = 2;
  causal.seq_q = 256;
  return ProblemBook(book("mission", {{"wide", kWide}, {"wide-causal", causal}}));
}

}  // namespace

TEST_CASE("a problem's id is its suite's name and its own") {
  const ProblemBook problems = two_problems();
  CHECK(problems.list({})->size() == 2);
  const auto causal = problems.list({"CAUSAL"});
  REQUIRE(causal->size() == 1);
  CHECK(causal->front().id == "mission/wide-causal");
  CHECK(book("", {{"", kWide}}).front().id == "4-8-512-128-f16");
  CHECK(problems.state({"mission/wid"}).error().message ==
        "there is no problem 'mission/wid'; did you mean mission/wide?");
}

TEST_CASE("problems are listed in pages") {
  Referee referee(two_problems(), make_compile_examiner(nullptr, {}), {});
  const auto page = referee.list({.first = 1});
  REQUIRE(page);
  CHECK(page->problems.size() == 1);
  CHECK(page->next == "mission/wide");
  const auto last = referee.list({.after = page->next});
  REQUIRE(last->problems.size() == 1);
  CHECK(last->problems[0].booked.id == "mission/wide-causal");
  CHECK(last->next.empty());
  CHECK_FALSE(referee.list({.after = "mission/wid"}));
}

TEST_CASE("a statement says what is computed, how tensors lie and what decides") {
  const auto stated = two_problems().state({"mission/wide-causal"});
  REQUIRE(stated);
  CHECK(stated->statement ==
        "out = softmax(q k^T / sqrt(128)) v for each of 4 x 8 heads; q and out have 256 rows, k "
        "and v have 512, all of 128 columns of f16. 4 heads of q share one of the 2 heads of k and "
        "v. Row i sees key j when j <= i + 256; a row that sees none is 0.");
  REQUIRE(stated->tensors.size() == 4);
  CHECK(stated->tensors[1].name == "k");
  CHECK(stated->tensors[1].shape == std::vector<std::int64_t>{4, 2, 512, 128});
  CHECK(stated->tensors[3].role == "output");
  CHECK(stated->gates.front().name == "source");
  for (const StatedRule& rule : stated->tolerance) CHECK(rule.name != "lse");
}

TEST_CASE("a statement says what expressions and their tensors do") {
  Attention problem = kWide;
  problem.tensors = {*parse_named_tensor("doc=i32[512]:0*512")};
  problem.score = "score + doc[k]";
  const auto stated = ProblemBook(book("", {{"one", problem}})).state({"one"});
  if (!stated) FAIL(stated.error().message);
  CHECK_THAT(stated->statement,
             ContainsSubstring("Then a score becomes score + doc[k] with q = i"));
  CHECK_THAT(stated->statement, ContainsSubstring("The tensor doc is the input tensor_doc."));
  CHECK(stated->tensors[3].name == "tensor_doc");
}

TEST_CASE("a statement says what optional tensors do") {
  Attention problem = kWide;
  problem.mask = *parse_mask("padding:9,0");
  problem.alibi = problem.sink = true;
  const auto stated =
      ProblemBook(book("", {{"", problem}})).state({"4-8-512-128-f16-padding-9-0-alibi-sink"});
  if (!stated) FAIL(stated.error().message);
  CHECK_THAT(stated->statement, ContainsSubstring("when j < lengths[b]; a row that sees none"));
  CHECK_THAT(stated->statement, ContainsSubstring("fall by alibi[h] |i - j|."));
  CHECK_THAT(stated->statement, ContainsSubstring("one more term, exp(sink[h])"));
  REQUIRE(stated->tensors.size() == 7);
  CHECK(stated->tensors[3].type == "i32");
}

TEST_CASE("no list of the judge's answers has a place for a seed or an expected value") {
  Referee referee(two_problems(), nullptr, {});
  for (const Tool& tool : judge_tools(referee)) {
    const std::string schema = dump(tool.output_schema());
    INFO(tool.name);
    CHECK(schema.find("\"seed\"") == std::string::npos);
    CHECK(schema.find("expected") == std::string::npos);
    CHECK(tool.input_schema().at("type") == "object");
    CHECK(tool.output_schema().at("type") == "object");
  }
}

TEST_CASE("arguments that no tool has are refused by name") {
  Referee referee(two_problems(), nullptr, {});
  const Toolbox tools = judge_tools(referee);
  const auto beat = [](std::string_view) { return Status(); };
  const auto refused = tools[1].run(Json{{"problem", "mission/wide"}}, beat);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message ==
        "arguments: field 'problem' is unknown; known are id; field 'id' is missing");
}
