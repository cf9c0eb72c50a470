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

Attention masked(std::int64_t seq_q, std::int64_t seq_kv, std::string_view mask,
                 std::int64_t batch = 1) {
  return {.batch = batch,
          .seq_q = seq_q,
          .seq_kv = seq_kv,
          .mask = canonical(*parse_mask(mask), seq_q, seq_kv)};
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

/// Where a key lies among documents packed one after the other.
std::size_t document_of(const std::vector<std::int64_t>& documents, std::int64_t place) {
  std::size_t document = 0;
  for (std::int64_t end = documents[0]; place >= end; end += documents[document]) ++document;
  return document;
}

/// Whether lengths leave a key to a row, as the definition in lengths.hpp has it.
bool left_by_definition(const Attention& problem, std::int64_t batch, std::int64_t row,
                        std::int64_t key) {
  const auto& [kind, numbers] = problem.mask.lengths;
  if (kind == LengthsKind::kNone) return true;
  if (kind == LengthsKind::kDocuments)
    return document_of(numbers, row) == document_of(numbers, key);
  const std::int64_t length = numbers[static_cast<std::size_t>(batch) % numbers.size()];
  return kind == LengthsKind::kRight ? key < length : key >= problem.seq_kv - length;
}

std::string canonical_name(std::int64_t seq_q, std::int64_t seq_kv, std::string_view mask) {
  return name(masked(seq_q, seq_kv, mask).mask);
}

std::string mask_fault(std::string_view mask) { return parse_mask(mask).error().message; }

}  // namespace

TEST_CASE("a mask's name is read back as the same mask") {
  for (const std::string_view text :
       {"none", "causal", "causal-upper-left", "window:64,32", "window:0,5", "causal-window:1",
        "prefix:512", "padding:128,0", "padding-left:3", "document:5,0,7", "causal+padding:9,8",
        "window:3,4+padding-left:9", "causal-window:9+document:1,2"})
    CHECK(name(*parse_mask(text)) == text);
  CHECK(name(*parse_mask("window:127,0")) == "causal-window:128");
  CHECK(slug(*parse_mask("window:64,32")) == "window-64-32");
  CHECK(slug(*parse_mask("causal+padding:64,32")) == "causal-padding-64-32");
  for (const MaskKind kind :
       {MaskKind::kNone, MaskKind::kCausal, MaskKind::kUpperLeft, MaskKind::kWindow,
        MaskKind::kPrefix, MaskKind::kPadding, MaskKind::kDocument}) {
    CHECK(kinds_of(example_of(kind)).back() == kind);
    CHECK(*parse_mask_kind(name(kind)) == kind);
  }
}

TEST_CASE("a wrong mask is refused with what would be right") {
  CHECK(mask_fault("full") ==
        "mask 'full' is not one of none, causal, causal-upper-left, window:L,R, causal-window:N, "
        "prefix:N, padding:N,..., padding-left:N,..., document:N,... or "
        "an expression of b, h, q and k");
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
  CHECK(mask_fault("padding:3,-1") ==
        "mask padding:N,... has '-1', but must have whole numbers of at least 0");
  CHECK(mask_fault("causal+window:3,4") ==
        "mask 'window:3,4' is not one of padding:N,..., padding-left:N,... or document:N,...");
  for (const std::string base : {"prefix:9", "causal-upper-left", "none"})
    CHECK(mask_fault(base + "+padding:3") ==
          "mask " + base + " is not joined with lengths; causal, window and causal-window are");
  CHECK(mask_fault("padding:3+causal") ==
        "mask 'padding:3+causal' has its lengths in front; the other mask comes first: "
        "causal+padding:N,...");
}

TEST_CASE("names of files hold short lists of lengths, and checksums of long ones") {
  std::string text = "causal+document:1";
  while (text.size() < 400) text += ",10";
  const std::string file = slug(*parse_mask(text));
  CHECK(file.starts_with("causal-document-"));
  CHECK(file.size() < 40);
  CHECK(slug(*parse_mask(text + ",11")) != file);
}

TEST_CASE("lengths that the problem cannot have are refused by their field") {
  const auto fault = [](std::int64_t seq_q, std::int64_t seq_kv, std::string_view mask,
                        std::int64_t batch) {
    return fatune::mask_fault(masked(seq_q, seq_kv, mask, batch));
  };
  CHECK(fault(9, 9, "padding:9,0", 2).empty());
  CHECK(fault(9, 9, "padding:9,10", 2) == "mask padding has length 10, but seq_kv is 9");
  CHECK(fault(9, 9, "padding-left:9,8,7", 2) == "mask padding-left has 3 lengths, but batch is 2");
  CHECK(fault(9, 9, "padding:0", 2) == "mask padding:0 hides every key");
  CHECK(fault(1, 9, "causal-window:2+padding:7", 1) ==
        "mask causal-window:2+padding:7 hides every key");
  CHECK(fault(9, 9, "document:4,0,5", 1).empty());
  CHECK(fault(9, 9, "document:4,5", 2) == "packed documents are of one sequence, but batch is 2");
  CHECK(fault(9, 8, "document:4,4", 1) ==
        "mask document needs equal lengths, but seq_q is 9 and seq_kv 8");
  CHECK(fault(9, 9, "document:4,4", 1) == "mask document has 8 keys in all, but seq_kv is 9");
}

TEST_CASE("the tensor of lengths has one for each batch entry, or the places of documents") {
  CHECK(lengths_tensor(masked(9, 9, "padding:9,0", 3)) == std::vector<std::int32_t>{9, 0, 9});
  CHECK(lengths_tensor(masked(9, 9, "document:4,0,5")) == std::vector<std::int32_t>{0, 4, 4, 9});
}

TEST_CASE("at other sizes lengths keep their kind, and fit") {
  for (const std::string_view text :
       {"padding:9,3", "padding-left:9", "causal-window:2+padding:9,0,1", "causal+document:4,5",
        "window:3,2+document:0,0,9"}) {
    const Mask mask = *parse_mask(text);
    for (const std::int64_t seq : {1, 2, 3, 17, 129}) {
      Attention problem = masked(seq, seq, "none", mask.lengths.repeats() ? 8 : 1);
      problem.mask = narrowed(mask, problem.batch, seq, seq);
      CAPTURE(text, seq, name(problem.mask));
      CHECK(problem.mask.lengths.kind == mask.lengths.kind);
      CHECK(lengths_fault(problem).empty());
      for (const std::int64_t each : {std::int64_t{0}, std::int64_t{1}})
        CHECK(std::ranges::count(problem.mask.lengths.numbers, each) > 0);
      if (mask.lengths.repeats()) CHECK(std::ranges::max(problem.mask.lengths.numbers) == seq);
    }
  }
  CHECK(name(fitted(*parse_lengths("padding:0,7,3"), 2)) == "padding:7");
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
  CHECK(canonical_name(8, 8, "padding:4,3,4,3") == "padding:4,3");
  CHECK(canonical_name(8, 8, "padding:4,3,4") == "padding:4,3,4");
  CHECK(canonical_name(8, 8, "window:9,0+padding:8,8") == "causal+padding:8");
  CHECK(canonical_name(8, 8, "document:4,4") == "document:4,4");
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
        const KeyRange range = visible_keys(problem, 0, row);
        std::vector<bool> seen;
        for (std::int64_t key = 0; key < seq_kv; ++key) seen.push_back(range.has(key));
        CHECK(seen == row_by_definition(*parse_mask(text), seq_q, seq_kv, row));
        pairs += range.count();
        for (std::size_t key = 0; key < seen.size(); ++key) of_any[key] = of_any[key] || seen[key];
        if (range.count() == 0) CHECK(unseeing++ == row);
      }
      CHECK(visible_pairs(problem) == static_cast<double>(pairs));
      CHECK(unseeing_rows(problem) == static_cast<double>(unseeing));
      CHECK(seen_keys(problem) == static_cast<double>(std::ranges::count(of_any, true)));
      CHECK(canonical(problem.mask, seq_q, seq_kv) == problem.mask);
    }
  }
}

TEST_CASE("lengths hide keys besides those that the mask hides, in each batch entry") {
  struct Case {
    std::int64_t batch, seq_q, seq_kv;
    std::string_view lengths;
  };
  for (const auto& [batch, seq_q, seq_kv, lengths] :
       {Case{3, 9, 9, "padding:9,0,4"}, Case{3, 4, 9, "padding-left:1,9"},
        Case{2, 9, 4, "padding:3,1"}, Case{2, 9, 4, "padding-left:3,0"}, Case{2, 1, 5, "padding:5"},
        Case{1, 9, 9, "document:2,0,5,1,1,0"}}) {
    for (const std::string base :
         {"", "causal+", "causal-window:3+", "window:1,2+", "window:0,0+"}) {
      const std::string text = base + std::string(lengths);
      const Attention problem = masked(seq_q, seq_kv, text, batch);
      CAPTURE(text, batch, seq_q, seq_kv);
      double pairs = 0, unseeing = 0, any = 0;
      for (std::int64_t of = 0; of < batch; ++of) {
        std::vector<bool> of_any(static_cast<std::size_t>(seq_kv));
        for (std::int64_t row = 0; row < seq_q; ++row) {
          const KeyRange range = visible_keys(problem, of, row);
          std::vector<bool> seen = row_by_definition(problem.mask, seq_q, seq_kv, row);
          std::int64_t count = 0;
          for (std::int64_t key = 0; key < seq_kv; ++key) {
            const auto at = static_cast<std::size_t>(key);
            seen[at] = seen[at] && left_by_definition(problem, of, row, key);
            CHECK(range.has(key) == seen[at]);
            of_any[at] = of_any[at] || seen[at];
            count += seen[at] ? 1 : 0;
          }
          CHECK(range.count() == count);
          CHECK(seeing_rows(problem, of).has(row) == (count > 0));
          pairs += static_cast<double>(count);
          unseeing += count == 0 ? 1 : 0;
        }
        any += static_cast<double>(std::ranges::count(of_any, true));
      }
      const auto entries = static_cast<double>(batch);
      CHECK(visible_pairs(problem) == pairs / entries);
      CHECK(unseeing_rows(problem) == unseeing / entries);
      CHECK(seen_keys(problem) == any / entries);
    }
  }
}

TEST_CASE("the rule of a mask with lengths says both") {
  CHECK(mask_rule(masked(8, 8, "padding:4,3", 2)) == "j < lengths[b]");
  CHECK(mask_rule(masked(8, 8, "causal+padding-left:4", 2)) == "j <= i and j >= 8 - lengths[b]");
  CHECK(mask_rule(masked(8, 8, "document:4,4")) ==
        "both lie between the same two neighbours of lengths");
  CHECK(distance_rule(masked(8, 8, "none")) == "|i - j|");
  CHECK(distance_rule(masked(8, 12, "none")) == "|i + 4 - j|");
  CHECK(distance_rule(masked(12, 8, "none")) == "|i - 4 - j|");
}

TEST_CASE("at shorter lengths a mask still hides something") {
  CHECK(name(narrowed(*parse_mask("causal-window:1024"), 1, 127, 129)) == "causal-window:44");
  CHECK(name(narrowed(*parse_mask("window:64,64"), 1, 127, 129)) == "window:43,42");
  CHECK(name(narrowed(*parse_mask("prefix:512"), 1, 127, 129)) == "prefix:43");
  CHECK(name(narrowed(*parse_mask("causal-window:8"), 1, 127, 129)) == "causal-window:8");
  CHECK(narrowed(Mask::kCausal, 1, 1, 1) == Mask::kCausal);
}

TEST_CASE("a mask's rule is in the words of its lengths") {
  CHECK(mask_rule(masked(8, 8, "causal")) == "j <= i");
  CHECK(mask_rule(masked(8, 12, "window:2,1")) == "j >= i + 2 and j <= i + 5");
  CHECK(mask_rule(masked(12, 8, "prefix:3")) == "j <= i - 4 or j < 3");
  CHECK(mask_rule(masked(8, 8, "none")).empty());
}

}  // namespace fatune
