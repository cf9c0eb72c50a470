// attention_test.cpp: Checks edge problems and the reference's slice in every layout.
#include <algorithm>

#include <catch2/catch_test_macros.hpp>

#include "model/kernel/operation.hpp"
#include "model/problem/problem.hpp"
#include "model/space/rules.hpp"
#include "support/sample_kernel.hpp"

using namespace fatune;

namespace {

Attention laid_out(const std::string& layout, std::int64_t kv_heads = 8) {
  Attention problem{4, 8, kv_heads, 512, 512, 64};
  problem.layouts = *parse_layouts(layout);
  REQUIRE(validate(problem));
  return problem;
}

std::vector<Attention> edges_of(const Attention& like) {
  const auto edges = attention()->edge_problems(like, 1);
  REQUIRE(edges);
  std::vector<Attention> problems;
  for (const EdgeProblem& edge : *edges) {
    problems.push_back(edge.problem.as_attention());
    CHECK(validate(problems.back()));
  }
  return problems;
}

}  // namespace

TEST_CASE(
    "the last resort alone has more rows than a wave has on any GPU, in tiles that are not whole") {
  const auto edges = attention()->edge_problems(laid_out("bhsd"), 1);
  REQUIRE(edges);
  for (const EdgeProblem& edge : *edges) {
    const Attention& problem = edge.problem.as_attention();
    const std::int64_t rows = problem.batch * problem.heads * problem.seq_q;
    CHECK(edge.last_resort == (rows > 128 * 132));
    if (!edge.last_resort) continue;
    for (const std::int64_t multiprocessors : {78, 114, 132, 144, 148, 160, 192})
      CHECK(rows > 128 * multiprocessors);
    for (const std::int64_t tile : {64, 128, 192, 256}) CHECK(problem.seq_q % tile != 0);
    CHECK(edge.cases.size() == edges->back().cases.size());
  }
}

TEST_CASE("edge problems keep optional tensors, and have lengths of 0, 1 and all keys") {
  Attention like{4, 8, 2, 512, 512, 64};
  like.alibi = like.sink = true;
  for (const std::string_view mask :
       {"causal+padding:500,0,30", "padding-left:9", "causal-window:2+padding:9", "none"}) {
    like.mask = *parse_mask(mask);
    for (const Attention& edge : edges_of(like)) {
      CHECK((edge.alibi && edge.sink));
      CHECK(kinds_of(edge.mask).size() == kinds_of(like.mask).size());
      if (!edge.mask.lengths.repeats() || edge.batch < 4) continue;
      for (const std::int64_t length : {std::int64_t{0}, std::int64_t{1}, edge.seq_kv})
        CHECK(std::ranges::count(edge.mask.lengths.numbers, length) > 0);
    }
  }
}

TEST_CASE("edge problems of packed documents are of one sequence, the last resort of many heads") {
  Attention like{1, 8, 2, 512, 512, 64};
  like.mask = *parse_mask("causal-window:300+document:12,500");
  const auto edges = edges_of(like);
  CHECK(edges.size() > 5);
  for (const Attention& edge : edges) {
    CHECK(edge.batch == 1);
    CHECK(edge.seq_q == edge.seq_kv);
    CHECK(edge.mask.lengths.documents() == 4);
  }
  CHECK(std::ranges::any_of(edges, [](const Attention& each) { return each.heads > 132; }));
}

TEST_CASE("the reference of one head has the longest lengths, and all rows of a slope") {
  Attention problem{4, 8, 8, 512, 512, 64};
  problem.mask = *parse_mask("padding:0,30,500,7");
  problem.alibi = true;
  Attention head = attention()->reference_problem(problem).as_attention();
  CHECK(name(head.mask) == "padding:500");
  CHECK(validate(head));
  problem.mask = Mask::kNone;
  problem.seq_q = problem.seq_kv = 1 << 17;
  CHECK(attention()->reference_problem(problem).as_attention().seq_q == 1 << 17);
  problem.alibi = false;
  CHECK(attention()->reference_problem(problem).as_attention().seq_q < 1 << 17);
}

TEST_CASE("the reference of an expression that names heads is the whole problem") {
  Attention problem{2, 8, 4, 512, 512, 64};
  problem.mask = canonical(*parse_mask("q - k < 64 << h"), 512, 512);
  problem.layouts = *parse_layouts("bshd");
  const Attention whole = attention()->reference_problem(problem).as_attention();
  CHECK(whole.heads == 8);
  CHECK(whole.layouts.plain());
  problem.mask = canonical(*parse_mask("q / 64 == k / 64"), 512, 512);
  CHECK(attention()->reference_problem(problem).as_attention().heads == 1);
  problem.score = "score + b";
  CHECK(attention()->reference_problem(problem).as_attention().batch == 2);
  problem.score = "score * 2";
  problem.mask = Mask::kNone;
  problem.seq_q = problem.seq_kv = 1 << 17;
  CHECK(attention()->reference_problem(problem).as_attention().seq_q == 1 << 17);
}

TEST_CASE("persistent CTAs that take work tiles in pairs can do the last resort") {
  const auto kernels = project_kernels();
  const auto kernel = std::ranges::find(kernels, "fa_wgmma",
                                        [](const KernelRef& each) { return each->manifest.name; });
  REQUIRE(kernel != kernels.end());
  Attention like{8, 16, 16, 2048, 2048, 64};
  like.mask = Mask::kCausal;
  const auto edges = attention()->edge_problems(like, 1);
  REQUIRE(edges);
  const auto last = std::ranges::find_if(*edges, &EdgeProblem::last_resort);
  REQUIRE(last != edges->end());
  for (const auto& [rows, ctas] : {std::pair(64, 1), {64, 2}, {64, 3}, {128, 1}, {192, 1}}) {
    INFO(rows << " rows, " << ctas << " CTAs a multiprocessor");
    Json words = to_json(default_config((*kernel)->manifest));
    words.update({{"BLOCK_M", rows},
                  {"BLOCK_N", 64},
                  {"STAGES", 2},
                  {"PINGPONG", rows > 64},
                  {"PRODUCER", "warpgroup"},
                  {"MIN_CTAS", ctas},
                  {"SCHEDULER", "static_persistent"},
                  {"GRID_ORDER", "paired"},
                  {"STORE", "registers"}});
    auto config = config_from_json((*kernel)->manifest, words, "test");
    REQUIRE(config);
    const auto reason =
        impossible_reason({*kernel, *std::move(config), last->problem}, limits_of("sm_90a"));
    REQUIRE(reason);
    CHECK(*reason == "");
  }
}

TEST_CASE("edge problems keep the kind of layout") {
  for (const Attention& edge : edges_of(laid_out("bhsd"))) CHECK(edge.layouts.plain());
  for (const Attention& edge : edges_of(laid_out("bshd,out=bhsd")))
    CHECK(name(edge.layouts) == "bshd,out=bhsd");
  for (const Attention& edge : edges_of(laid_out("packed", 2)))
    CHECK(name(edge.layouts) == (edge.seq_q == edge.seq_kv ? "packed" : "bshd"));
}

TEST_CASE("edge problems keep the order of told strides, and where there were gaps") {
  // Rows 72 apart, in heads without a gap, in batches with one; and the heads of a row together.
  const auto edges = edges_of(laid_out("q=400000:36864:72,out=262144:64:512"));
  const auto third = std::ranges::find(edges, 63, &Attention::seq_q);
  REQUIRE(third != edges.end());
  CHECK(third->layouts.q.strides == Strides{63 * 72 + 8, 63 * 72, 72});
  CHECK(third->layouts.out.strides == Strides{63 * 64, 64, 64});
  CHECK(third->layouts.k.kind == LayoutKind::kBhsd);
}

TEST_CASE("the strides of a dimension of one decide nothing") {
  Attention problem{1, 8, 8, 512, 512, 64};
  problem.layouts = *parse_layouts("q=3:32768:64");
  REQUIRE(validate(problem));
  for (const Attention& edge : edges_of(problem)) {
    const Strides wanted = bhsd_strides(sizes_of(edge, "q"));
    CHECK(edge.layouts.q.strides == wanted);
  }
}

TEST_CASE("a long problem in one head group is no smaller in another layout") {
  Attention problem{1, 1, 1, 65536, 65536, 64};
  problem.layouts = *parse_layouts("q=8388608:8388608:128");
  CHECK_FALSE(attention()->hard_cases(problem, 1).empty());
  problem.batch = 2;
  CHECK(attention()->hard_cases(problem, 1).empty());
  const auto edges = edges_of(problem);
  const auto group = std::ranges::find(edges, 65536, &Attention::seq_q);
  REQUIRE(group != edges.end());
  CHECK(group->batch == 1);
  CHECK(group->layouts.q.strides.row == 72);
}

TEST_CASE("the reference computes a contiguous head, whatever the layout") {
  const Problem head = attention()->reference_problem(laid_out("packed", 2));
  CHECK(head == attention()->reference_problem(laid_out("bhsd")));
  CHECK(head == Attention{1, 1, 1, 512, 512, 64});
}

TEST_CASE("the reference computes some rows of a head whose scores exceed 2 GiB") {
  const Attention longest{1, 1, 1, 262144, 262144, 128};
  CHECK(attention()->reference_problem(longest) == Attention{1, 1, 1, 2048, 262144, 128});
  Attention causal = longest;
  causal.mask = Mask::kCausal;
  CHECK(attention()->reference_problem(causal) == causal);
}
