// rule_test.cpp: Checks expressions over query-key pairs: their texts, values, bounds and faults.
#include "model/problem/rule.hpp"

#include <functional>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "model/problem/mask.hpp"
#include "model/problem/problem.hpp"
#include "model/problem/rule_keys.hpp"
#include "model/problem/scores.hpp"

namespace fatune {
namespace {

using Catch::Matchers::ContainsSubstring;
using std::int64_t;

const Attention kProblem = {
    .batch = 2, .heads = 4, .kv_heads = 2, .seq_q = 70, .seq_kv = 90, .head_dim = 64};

PairRule mask_rule_of(std::string_view text) { return *PairRule::parse(text, RuleKind::kMask); }

std::string fault_of(std::string_view text, RuleKind kind) {
  const Result<PairRule> rule = PairRule::parse(text, kind);
  return rule ? rule->fault(kProblem) : rule.error().message;
}

double value_at(const PairRule& rule, int64_t b, int64_t h, int64_t q, int64_t k, double score) {
  std::vector<double> values = {score};
  rule.evaluate(kProblem, {{b, b}, {h, h}, {q, q}, {k, k}}, values);
  return values.front();
}

int64_t floor_of(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

struct MaskCase {
  std::string text;
  std::function<int64_t(int64_t, int64_t, int64_t, int64_t)> value;
};
const std::vector<MaskCase> kMasks = {
    {"q - k < 20 || k < 4", [](auto, auto, auto q, auto k) { return q - k < 20 || k < 4; }},
    {"k <= q && q - k < 8 << h",
     [](auto, auto h, auto q, auto k) { return k <= q && q - k < 8 << h; }},
    {"q / 16 == k / 16", [](auto, auto, auto q, auto k) { return q / 16 == k / 16; }},
    {"(q - k) / 7 % 3", [](auto, auto, auto q, auto k) { return (q - k) / 7 % 3; }},
    {"floor_mod(q - k, 7) < floor_div(k - q, 3)",
     [](auto, auto, auto q, auto k) {
       return (q - k) - floor_of(q - k, 7) * 7 < floor_of(k - q, 3);
     }},
    {"b == 0 ? k % 8 != q % 8 : k >= SEQ_KV - 30",
     [](auto b, auto, auto q, auto k) { return b == 0 ? k % 8 != q % 8 : k >= 60; }},
    {"!(q & 4) || (k | 3) == 7 ^ ~h < 0",
     [](auto, auto h, auto q, auto k) {
       return (q & 4) == 0 || (static_cast<int>((k | 3) == 7) ^ static_cast<int>(~h < 0)) != 0;
     }},
    {"max(q, k) - min(q, 2 * k) > abs(q - 40) >> 1",
     [](auto, auto, auto q, auto k) {
       return std::max(q, k) - std::min(q, 2 * k) > std::abs(q - 40) >> 1;
     }},
    {"(q < k) == (k < 40) & (q > 3) < k",
     [](auto, auto, auto q, auto k) { return (q < k) == (k < 40) && static_cast<int>(q > 3) < k; }},
    {"-q + k > -5 && kv_head_idx == 1",
     [](auto, auto h, auto q, auto k) { return -q + k > -5 && h / 2 == 1; }},
};

}  // namespace

TEST_CASE("expressions have the values that C gives them") {
  for (const auto& [text, value] : kMasks) {
    const PairRule rule = mask_rule_of(text);
    INFO(text << " as " << rule.text());
    int64_t wrong = 0;
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t h = 0; h < 4; ++h)
        for (int64_t q = 0; q < 70; ++q)
          for (int64_t k = 0; k < 90; ++k)
            wrong += static_cast<int64_t>(value_at(rule, b, h, q, k, 1)) != value(b, h, q, k);
    CHECK(wrong == 0);
    CHECK(mask_rule_of(rule.text()).text() == rule.text());
  }
}

TEST_CASE("bounds of expressions never exclude a value") {
  for (const MaskCase& each : kMasks) {
    const PairRule rule = mask_rule_of(each.text);
    INFO(each.text);
    int64_t wrong = 0, decided = 0;
    for (int64_t q = 0; q < 70; q += 9) {
      for (int64_t k = 0; k < 90; k += 13) {
        const Pairs pairs = {
            {0, 1}, {1, 2}, {q, std::min<int64_t>(q + 8, 69)}, {k, std::min<int64_t>(k + 12, 89)}};
        const std::optional<bool> all = rule.shows(kProblem, pairs);
        if (!all) continue;
        ++decided;
        for (int64_t i = pairs.query.least; i <= pairs.query.most; ++i)
          for (int64_t j = pairs.key.least; j <= pairs.key.most; ++j)
            wrong += (value_at(rule, 0, 1, i, j, 1) != 0) != *all ||
                     (value_at(rule, 1, 2, i, j, 1) != 0) != *all;
      }
    }
    CHECK(wrong == 0);
    INFO("decided " << decided);
    CHECK((decided > 0 || each.text.find('%') != std::string::npos ||
           each.text.find("mod") != std::string::npos || each.text.find('!') == 0));
  }
}

TEST_CASE("bounds decide tiles of blocks, bands and strides") {
  const auto shows = [](std::string_view text, Indices q, Indices k) {
    return mask_rule_of(text).shows(kProblem, {{0, 1}, {0, 3}, q, k});
  };
  CHECK(shows("q / 16 == k / 16", {16, 31}, {16, 31}) == true);
  CHECK(shows("q / 16 == k / 16", {16, 31}, {32, 47}) == false);
  CHECK(shows("k / 32 % 2 == 1", {0, 69}, {32, 63}) == true);
  CHECK(shows("k / 32 % 2 == 1", {0, 69}, {0, 31}) == false);
  CHECK(shows("k % 64 < 32", {0, 69}, {64, 89}) == true);
  CHECK(shows("k <= q", {30, 40}, {0, 30}) == true);
  CHECK(!shows("k <= q", {30, 40}, {0, 31}).has_value());
}

TEST_CASE("comparisons of q and k become named masks") {
  const auto named = [](std::string_view text, int64_t seq_q = 512) {
    return name(canonical(*parse_mask(text), seq_q, 512));
  };
  CHECK(named("k <= q") == "causal");
  CHECK(named("q_idx >= kv_idx") == "causal");
  CHECK(named("q - k < 64 && k <= q") == "causal-window:64");
  CHECK(named("abs(q - k) <= 30") == "window:30,30");
  CHECK(named("q - 5 <= k && k < q + 4") == "window:5,3");
  CHECK(named("k <= q || k < 100") == "prefix:100");
  CHECK(named("k < 100 || q >= k") == "prefix:100");
  CHECK(named("causal && (k < 4 || q - k < 64)") == "causal && (k < 4 || q - k < 64)");
  CHECK(named("k <= q && (k < 4 || q - k < 64)") == "causal && (k < 4 || q - k < 64)");
  CHECK(named("k < q") == "k < q");
  CHECK(named("k <= q", 500) == "k <= q");
  CHECK(named("causal && h < 2 && b == 0+padding:100") == "causal && h < 2 && b == 0+padding:100");
  CHECK(named("k >= 3 + padding:100,20") == "k >= 3+padding:100,20");
  CHECK_FALSE(parse_mask("causal && k < 4 || q < 3"));
}

TEST_CASE("a capping expression becomes the softcap") {
  Attention problem = kProblem;
  REQUIRE(set_score(problem, "20 * tanh(score / 20)"));
  CHECK(problem.softcap == 20);
  CHECK(problem.score.empty());
  REQUIRE(set_score(problem, "tanh(score / 30) * 30"));
  CHECK(problem.score == "tanh(score / 30) * 30");  // there is a cap
}

TEST_CASE("score expressions divide whole numbers as C does") {
  const auto value = [](std::string_view text) {
    return value_at(*PairRule::parse(text, RuleKind::kScore), 0, 1, 7, 3, 2.5);
  };
  CHECK(value("score + q / 2") == 5.5);
  CHECK(value("score + float(q) / 2") == 6);
  CHECK(value("q > k ? score * 2 : -INFINITY") == 5);
  CHECK(value("max(score, 1) + 1e-1") == 2.6);
  CHECK(PairRule::parse("k < q ? score : 0", RuleKind::kScore)->code(kProblem) ==
        "either(k < q, score, float(Int(0)))");
}

TEST_CASE("faulty expressions are refused by name") {
  const std::vector<std::pair<std::string, std::string>> masks = {
      {"q = k", "'==' compares"},
      {"doc[q] == doc[k]", "reads the tensor 'doc', which is not declared"},
      {"doc[q", "ends too early"},
      {"foo(q) < 2", "unknown function 'foo' (known: min"},
      {"p < 2", "unknown name 'p' (known: b, h, q, k"},
      {"q / k > 2", "may divide by 0"},
      {"q << k < 2", "shifts by 0 to 89"},
      {"q * q * q * q * q * q < k", "numbers have 32 bits"},
      {"k < 1.5", "a mask is of whole numbers"},
      {"score < 2", "unknown name 'score'"},
      {"k <= q ||", "ends too early"},
      {"(k <= q", "ends too early"},
      {"k <= q)", "')' is not understood behind 'q'"},
      {"0 <= q - k <= 5", "'<=' follows another comparison: join them by &&"},
      {"q == k != b", "'!=' follows another comparison"},
      {"q++ < k", "'<' is not understood behind '+'"},
      {"min(q) < k", "min has 2 arguments, not 1"},
      {std::string(70, '(') + "q" + std::string(70, ')') + " < k", "levels deep"},
      {std::string(2000, 'q') + " < k", "longer than 1024"},
  };
  for (const auto& [text, wanted] : masks)
    CHECK_THAT(fault_of(text, RuleKind::kMask), ContainsSubstring(wanted));
  CHECK_THAT(fault_of("score % 2", RuleKind::kScore), ContainsSubstring("of whole numbers"));
  CHECK_THAT(fault_of("score *= 2", RuleKind::kScore), ContainsSubstring("assigns"));
}

TEST_CASE("keys of masks with expressions are counted one by one") {
  for (const std::string text : {"q / 16 == k / 16", "causal && (h + k) % 5 != 0",
                                 "b == 1 && k < 20+padding:90,30", "k < 3 && q > 60 && h == 2"}) {
    Attention problem = kProblem;
    problem.mask = canonical(*parse_mask(text), problem.seq_q, problem.seq_kv);
    INFO(text);
    const VisibleKeys keys(problem);
    double pairs = 0, unseeing = 0;
    const std::vector<bool> seeing = keys.seeing();
    for (int64_t head = 0; head < 8; ++head) {
      for (int64_t q = 0; q < 70; ++q) {
        int64_t seen = 0;
        for (int64_t k = 0; k < 90; ++k) seen += keys.has(head / 4, head % 4, q, k) ? 1 : 0;
        pairs += static_cast<double>(seen);
        unseeing += seen == 0 ? 1 : 0;
        if (!seeing.empty()) CHECK(seeing[static_cast<std::size_t>(head * 70 + q)] == (seen > 0));
      }
    }
    CHECK(visible_pairs(problem) == pairs / 8);
    CHECK(unseeing_rows(problem) == unseeing / 8);
  }
}

}  // namespace fatune
