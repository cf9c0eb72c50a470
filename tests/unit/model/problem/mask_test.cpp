// mask_test.cpp: Checks texts of masks, their one spelling at given lengths, and the keys that each
// query sees.
#include "model/problem/mask.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "model/problem/problem.hpp"

namespace fatune {
namespace {

Attention masked(std::int64_t seq_q, std::int64_t seq_kv, std::string_view mask) {
  return {.seq_q = seq_q, .seq_kv = seq_kv, .mask = canonical(*parse_mask(mask), seq_q, seq_kv)};
}

/// A row of the mask as the definition in mask.hpp has it.
std::vector<bool> row_by_definition(const Mask& mask, std::int64_t seq_q, std::int64_t seq_kv,
                                    std::int64_t row) {
  const std::int64_t position = mask.upper_left ? row : row + seq_kv - seq_q;
  std::vector<bool> seen;
  for (std::int64_t key = 0; key < seq_kv; ++key) {
    const bool in_window = (!mask.before || key >= position - *mask.before) &&
                           (!mask.after || key <= position + *mask.after);
    seen.push_back(in_window || key < mask.prefix);
  }
  return seen;
}

std::string canonical_name(std::int64_t seq_q, std::int64_t seq_kv, std::string_view mask) {
  return name(masked(seq_q, seq_kv, mask).mask);
}

std::string mask_fault(std::string_view mask) { return parse_mask(mask).error().message; }

}  // namespace

TEST_CASE("a mask's name is read back as the same mask") {
  for (const std::string_view text : {"none", "causal", "causal-upper-left", "window:64,32",
                                      "window:0,5", "causal-window:1", "prefix:512"})
    CHECK(name(*parse_mask(text)) == text);
  CHECK(name(*parse_mask("window:127,0")) == "causal-window:128");
  CHECK(slug(*parse_mask("window:64,32")) == "window-64-32");
  for (const MaskKind kind : {MaskKind::kNone, MaskKind::kCausal, MaskKind::kUpperLeft,
                              MaskKind::kWindow, MaskKind::kPrefix}) {
    CHECK(kind_of(example_of(kind)) == kind);
    CHECK(*parse_mask_kind(name(kind)) == kind);
  }
}

TEST_CASE("a wrong mask is refused with what would be right") {
  CHECK(mask_fault("full") ==
        "mask 'full' is not one of none, causal, causal-upper-left, window:L,R, causal-window:N or "
        "prefix:N");
  CHECK(mask_fault("causal:3").starts_with("mask 'causal:3' is not one of"));
  CHECK(mask_fault("window").starts_with("mask 'window' is not one of"));
  CHECK(mask_fault("window:64") ==
        "mask window:L,R has two numbers, the keys before and behind a query's own, not '64'");
  CHECK(mask_fault("window:-5,0") ==
        "mask window:L,R has '-5', but must have a whole number of at least 0");
  CHECK(mask_fault("causal-window:0") ==
        "mask causal-window:N has '0', but must have a whole number of at least 1");
  CHECK(mask_fault("prefix:x") ==
        "mask prefix:N has 'x', but must have a whole number of at least 0");
}

TEST_CASE("bounds that hide nothing are left out") {
  CHECK(canonical_name(8, 8, "window:7,7") == "none");
  CHECK(canonical_name(8, 8, "window:99,0") == "causal");
  CHECK(canonical_name(8, 8, "causal-window:8") == "causal");
  CHECK(canonical_name(8, 8, "causal-window:7") == "causal-window:7");
  CHECK(canonical_name(8, 8, "window:99,3") == "window:7,3");
  CHECK(canonical_name(8, 8, "window:3,99") == "window:3,7");
  CHECK(canonical_name(8, 8, "causal-upper-left") == "causal");
  CHECK(canonical_name(8, 9, "causal-upper-left") == "causal-upper-left");
  CHECK(canonical_name(8, 8, "prefix:0") == "causal");
  CHECK(canonical_name(8, 8, "prefix:8") == "none");
  CHECK(canonical_name(1, 8, "causal") == "causal");
}

TEST_CASE("each query sees the keys of the definition, before and after the mask is canonical") {
  const std::string_view text =
      GENERATE("none", "causal", "causal-upper-left", "window:2,1", "window:0,0", "window:3,0",
               "window:0,4", "window:1,99", "window:99,2", "causal-window:3", "prefix:3");
  for (const std::int64_t seq_q : {1, 2, 5, 9}) {
    for (const std::int64_t seq_kv : {1, 3, 5, 12}) {
      CAPTURE(text, seq_q, seq_kv);
      const Attention problem = masked(seq_q, seq_kv, text);
      std::int64_t pairs = 0, unseeing = 0;
      std::vector<bool> of_any(static_cast<std::size_t>(seq_kv));
      for (std::int64_t row = 0; row < seq_q; ++row) {
        const KeyRange range = visible_keys(problem, row);
        std::vector<bool> seen;
        for (std::int64_t key = 0; key < seq_kv; ++key) seen.push_back(range.has(key));
        CHECK(seen == row_by_definition(*parse_mask(text), seq_q, seq_kv, row));
        pairs += range.count();
        for (std::size_t key = 0; key < seen.size(); ++key) of_any[key] = of_any[key] || seen[key];
        if (range.count() == 0) CHECK(unseeing++ == row);
      }
      CHECK(visible_pairs(problem) == static_cast<double>(pairs));
      CHECK(unseeing_rows(problem) == unseeing);
      CHECK(seen_keys(problem) == std::ranges::count(of_any, true));
      CHECK(canonical(problem.mask, seq_q, seq_kv) == problem.mask);
    }
  }
}

TEST_CASE("at shorter lengths a mask still hides something") {
  CHECK(name(narrowed(*parse_mask("causal-window:1024"), 127, 129)) == "causal-window:44");
  CHECK(name(narrowed(*parse_mask("window:64,64"), 127, 129)) == "window:43,42");
  CHECK(name(narrowed(*parse_mask("prefix:512"), 127, 129)) == "prefix:43");
  CHECK(name(narrowed(*parse_mask("causal-window:8"), 127, 129)) == "causal-window:8");
  CHECK(narrowed(Mask::kCausal, 1, 1) == Mask::kCausal);
}

TEST_CASE("a mask's rule is in the words of its lengths") {
  CHECK(mask_rule(masked(8, 8, "causal")) == "j <= i");
  CHECK(mask_rule(masked(8, 12, "window:2,1")) == "j >= i + 2 and j <= i + 5");
  CHECK(mask_rule(masked(12, 8, "prefix:3")) == "j <= i - 4 or j < 3");
  CHECK(mask_rule(masked(8, 8, "none")).empty());
}

}  // namespace fatune
