// mask.cpp: Parses and prints masks, and finds the keys that a query sees.
#include "model/problem/mask.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "core/words.hpp"
#include "model/problem/problem.hpp"

namespace fatune {
namespace {

constexpr std::array kMaskKinds = {MaskKind::kNone,    MaskKind::kCausal, MaskKind::kUpperLeft,
                                   MaskKind::kWindow,  MaskKind::kPrefix, MaskKind::kPadding,
                                   MaskKind::kDocument};
constexpr std::string_view kForms =
    "none, causal, causal-upper-left, window:L,R, causal-window:N, prefix:N, padding:N,..., "
    "padding-left:N,... or document:N,...";
constexpr std::size_t kLongestSlug = 64;  // chosen: names of files have more parts, and 255 bytes

Result<std::int64_t> parse_bound(std::string_view form, std::string_view text, std::int64_t least) {
  const auto number = parse_integer(trim(text));
  if (number && *number >= least && *number <= kLargestSize) return *number;
  return usage_error(fmt::format("mask {} has '{}', but must have a whole number of at least {}",
                                 form, trim(text), least));
}

Result<Mask> parse_window(std::string_view text) {
  constexpr std::string_view kForm = "window:L,R";
  const std::vector<std::string> bounds = split(text, ',');
  if (bounds.size() != 2) {
    return usage_error(
        fmt::format("mask {} has two numbers, the keys before and behind a query's own, not '{}'",
                    kForm, text));
  }
  Mask mask;
  FATUNE_TRY(mask.before, parse_bound(kForm, bounds[0], 0));
  FATUNE_TRY(mask.after, parse_bound(kForm, bounds[1], 0));
  return mask;
}

/// Sums i + from, but at least `least` and at most `most`, over i = 0 ... count - 1.
double sum_of_clamped(double count, double from, double least, double most) {
  const double below = std::clamp(least - from, 0.0, count);
  const double inside = std::clamp(most - from, 0.0, count) - below;
  return below * least + inside * (from + below) + inside * (inside - 1) / 2 +
         (count - below - inside) * most;
}

}  // namespace

std::string_view name(MaskKind kind) {
  constexpr std::array<std::string_view, kMaskKinds.size()> kWords = {
      "none", "causal", "causal-upper-left", "window", "prefix", "padding", "document"};
  return kWords.at(static_cast<std::size_t>(kind));
}

Result<MaskKind> parse_mask_kind(std::string_view text) {
  return parse_word<MaskKind>(text, kMaskKinds, "mask");
}

FieldWord<MaskKind> word_of(const MaskKind*) { return {parse_mask_kind, kMaskKinds}; }

MaskKind kind_of(const Mask& mask) {
  if (mask.prefix > 0) return MaskKind::kPrefix;
  if (mask.upper_left) return MaskKind::kUpperLeft;
  if (mask.before || mask.after.value_or(0) > 0) return MaskKind::kWindow;
  return mask.after ? MaskKind::kCausal : MaskKind::kNone;
}

std::vector<MaskKind> kinds_of(const Mask& mask) {
  std::vector<MaskKind> kinds = {kind_of(mask)};
  if (mask.lengths.repeats()) kinds.push_back(MaskKind::kPadding);
  if (mask.lengths.kind == LengthsKind::kDocuments) kinds.push_back(MaskKind::kDocument);
  return kinds;
}

Mask example_of(MaskKind kind) {
  const std::array<Mask, kMaskKinds.size()> masks = {
      {{},
       {.after = 0},
       {.after = 0, .upper_left = true},
       {.before = 127, .after = 0},
       {.after = 0, .prefix = 100},
       {.lengths = {LengthsKind::kRight, {100}}},
       {.lengths = {LengthsKind::kDocuments, {100, 28}}}}};
  return masks.at(static_cast<std::size_t>(kind));
}

/// Returns the name of the mask without its lengths.
static std::string base_name(const Mask& mask) {
  const MaskKind kind = kind_of(mask);
  if (kind == MaskKind::kPrefix) return fmt::format("prefix:{}", mask.prefix);
  if (kind != MaskKind::kWindow) return std::string(name(kind));
  const std::int64_t before = mask.before.value_or(kLargestSize);
  const std::int64_t after = mask.after.value_or(kLargestSize);
  if (after == 0) return fmt::format("causal-window:{}", before + 1);
  return fmt::format("window:{},{}", before, after);
}

std::string name(const Mask& mask) {
  if (mask.lengths.kind == LengthsKind::kNone) return base_name(mask);
  const std::string lengths = name(mask.lengths);
  return kind_of(mask) == MaskKind::kNone ? lengths : base_name(mask) + "+" + lengths;
}

std::string slug(const Mask& mask) {
  std::string text = name(mask);
  if (text.size() > kLongestSlug)
    text = fmt::format("{}-{}", text.substr(0, text.rfind(':')), crc32_hex(text));
  std::ranges::replace_if(
      text, [](char c) { return c == ':' || c == ',' || c == '+'; }, '-');
  return text;
}

/// Parses the name of a mask without lengths.
static Result<Mask> parse_base(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view form = trim(text.substr(0, colon));
  const bool has_numbers = colon != std::string_view::npos;
  const std::string_view numbers = has_numbers ? text.substr(colon + 1) : "";
  if (!has_numbers && form == "none") return Mask::kNone;
  if (!has_numbers && form == "causal") return Mask::kCausal;
  if (!has_numbers && form == "causal-upper-left") return example_of(MaskKind::kUpperLeft);
  if (has_numbers && form == "window") return parse_window(numbers);
  if (has_numbers && form == "causal-window") {
    FATUNE_TRY(const std::int64_t keys, parse_bound("causal-window:N", numbers, 1));
    return Mask{.before = keys - 1, .after = 0};
  }
  if (has_numbers && form == "prefix") {
    FATUNE_TRY(const std::int64_t keys, parse_bound("prefix:N", numbers, 0));
    return Mask{.after = 0, .prefix = keys};
  }
  return usage_error(fmt::format("mask '{}' is not one of {}", text, kForms));
}

/// Parses a mask and the lengths that join it.
static Result<Mask> parse_joined(std::string_view base, std::string_view lengths) {
  FATUNE_TRY(Mask mask, parse_base(base));
  if (mask == Mask::kNone || mask.upper_left || mask.prefix > 0) {
    return usage_error(
        fmt::format("mask {} is not joined with lengths; causal, window and causal-window are",
                    base_name(mask)));
  }
  FATUNE_TRY(mask.lengths, parse_lengths(lengths));
  return mask;
}

Result<Mask> parse_mask(std::string_view text) {
  text = trim(text);
  const bool lengths_first = text.starts_with("padding") || text.starts_with("document");
  const std::size_t plus = text.find('+');
  if (plus == std::string_view::npos && !lengths_first) return parse_base(text);
  if (plus == std::string_view::npos) {
    FATUNE_TRY(Lengths lengths, parse_lengths(text));
    return Mask{.lengths = std::move(lengths)};
  }
  if (!lengths_first) return parse_joined(trim(text.substr(0, plus)), trim(text.substr(plus + 1)));
  return usage_error(fmt::format(
      "mask '{}' has its lengths in front; the other mask comes first: causal+padding:N,...",
      text));
}

FieldWord<Mask> word_of(const Mask*) {
  return {parse_mask,
          {},
          "^(none|causal-upper-left|prefix:[0-9]+|"
          "(causal|window:[0-9]+,[0-9]+|causal-window:[0-9]+)"
          "(\\+(padding|padding-left|document):[0-9]+(,[0-9]+)*)?|"
          "(padding|padding-left|document):[0-9]+(,[0-9]+)*)$"};
}

Mask canonical(Mask mask, std::int64_t seq_q, std::int64_t seq_kv) {
  if (mask.prefix >= seq_kv) return Mask::kNone;
  if (seq_q == seq_kv) mask.upper_left = false;
  if (kind_of(mask) != MaskKind::kWindow) return mask;
  const std::int64_t before = std::min(mask.before.value_or(kLargestSize), seq_kv - 1);
  const std::int64_t after = std::min(mask.after.value_or(kLargestSize), seq_q - 1);
  const bool causal = after < seq_q - 1 || mask.after == 0;
  mask.before.reset();
  mask.after.reset();
  if (before < seq_kv - 1 || (after < seq_q - 1 && after > 0)) mask.before = before;
  if (mask.before || causal) mask.after = after;
  return mask;
}

Mask narrowed(Mask mask, std::int64_t batch, std::int64_t seq_q, std::int64_t seq_kv) {
  mask.lengths = resized(mask.lengths, batch, seq_kv);
  if (mask.before) mask.before = std::min(*mask.before, seq_kv / 3);
  if (mask.after) mask.after = std::min(*mask.after, seq_q / 3);
  mask.prefix = std::min(mask.prefix, seq_kv / 3);
  return canonical(std::move(mask), seq_q, seq_kv);
}

MaskSizes mask_sizes(const Attention& problem) {
  const Mask& mask = problem.mask;
  MaskSizes sizes;
  if (!mask.upper_left) sizes.diagonal = problem.seq_kv - problem.seq_q;
  if (mask.before && *mask.before < problem.seq_kv - 1) sizes.keys_before = *mask.before;
  const bool is_window = kind_of(mask) == MaskKind::kWindow;
  if (mask.after && (!is_window || *mask.after < problem.seq_q - 1)) sizes.keys_after = *mask.after;
  return sizes;
}

/// Returns the keys that the lengths leave to a row.
static KeyRange keys_of_lengths(const Attention& problem, std::int64_t batch, std::int64_t row) {
  const Lengths& lengths = problem.mask.lengths;
  if (lengths.kind == LengthsKind::kNone) return {0, problem.seq_kv};
  if (lengths.kind == LengthsKind::kRight) return {0, lengths.of(batch)};
  if (lengths.kind == LengthsKind::kLeft)
    return {problem.seq_kv - lengths.of(batch), problem.seq_kv};
  KeyRange document;
  for (const std::int64_t each : lengths.numbers) {
    document = {document.end, document.end + each};
    if (row < document.end) break;
  }
  return document;
}

KeyRange visible_keys(const Attention& problem, std::int64_t batch, std::int64_t row) {
  const MaskSizes sizes = mask_sizes(problem);
  const std::int64_t position = row + sizes.diagonal;
  const KeyRange left = keys_of_lengths(problem, batch, row);
  KeyRange range = left;
  if (sizes.keys_after >= 0) {
    const std::int64_t least = std::max(left.begin, problem.mask.prefix);
    range.end = std::clamp(position + sizes.keys_after + 1, least, left.end);
  }
  if (sizes.keys_before >= 0)
    range.begin = std::clamp(position - sizes.keys_before, left.begin, left.end);
  return range;
}

std::string mask_rule(const Attention& problem) {
  const MaskSizes sizes = mask_sizes(problem);
  const auto bound = [&](std::string_view sign, std::int64_t shift) {
    return fmt::format(
        "j {} i{}", sign,
        shift == 0 ? "" : fmt::format(" {} {}", shift < 0 ? '-' : '+', std::abs(shift)));
  };
  std::string text;
  if (sizes.keys_before >= 0) text = bound(">=", sizes.diagonal - sizes.keys_before);
  if (sizes.keys_before >= 0 && sizes.keys_after >= 0) text += " and ";
  if (sizes.keys_after >= 0) text += bound("<=", sizes.diagonal + sizes.keys_after);
  if (problem.mask.prefix > 0) text += fmt::format(" or j < {}", problem.mask.prefix);
  constexpr std::array<std::string_view, 4> kOfLengths = {
      "", "j < lengths[b]", "j >= {} - lengths[b]",
      "both lie between the same two neighbours of lengths"};
  const auto kind = static_cast<std::size_t>(problem.mask.lengths.kind);
  if (kind != 0 && !text.empty()) text += " and ";
  return text + fmt::format(fmt::runtime(kOfLengths.at(kind)), problem.seq_kv);
}

std::string distance_rule(const Attention& problem) {
  const std::int64_t shift = problem.seq_kv - problem.seq_q;
  if (shift == 0) return "|i - j|";
  return fmt::format("|i {} {} - j|", shift < 0 ? '-' : '+', std::abs(shift));
}

KeyRange seeing_rows(const Attention& problem, std::int64_t batch) {
  const std::int64_t rows = problem.seq_q;
  if (problem.mask.lengths.kind == LengthsKind::kDocuments) return {0, rows};
  const MaskSizes sizes = mask_sizes(problem);
  const KeyRange left = keys_of_lengths(problem, batch, 0);
  if (left.count() == 0) return {};
  KeyRange seeing{0, rows};
  if (sizes.keys_after >= 0 && problem.mask.prefix == 0)
    seeing.begin =
        std::clamp<std::int64_t>(left.begin - sizes.diagonal - sizes.keys_after, 0, rows);
  if (sizes.keys_before >= 0)
    seeing.end = std::clamp<std::int64_t>(left.end - sizes.diagonal + sizes.keys_before, 0, rows);
  return seeing;
}

/// The mean of a number over the batch, where lengths make its entries differ.
template <typename Number>
static double mean_over_batch(const Attention& problem, const Number& number) {
  if (!problem.mask.lengths.repeats()) return number(0);
  double sum = 0;
  for (std::int64_t batch = 0; batch < problem.batch; ++batch) sum += number(batch);
  return sum / static_cast<double>(problem.batch);
}

double unseeing_rows(const Attention& problem) {
  return mean_over_batch(problem, [&](std::int64_t batch) {
    return static_cast<double>(problem.seq_q - seeing_rows(problem, batch).count());
  });
}

double seen_keys(const Attention& problem) {
  return mean_over_batch(problem, [&](std::int64_t batch) {
    const KeyRange rows = seeing_rows(problem, batch);
    if (rows.count() == 0) return 0.0;
    return static_cast<double>(visible_keys(problem, batch, rows.end - 1).end -
                               visible_keys(problem, batch, rows.begin).begin);
  });
}

/// The pairs of these rows and keys that the mask without its lengths does not hide.
static double pairs_within(const Attention& problem, const KeyRange& rows, const KeyRange& keys) {
  const MaskSizes sizes = mask_sizes(problem);
  const auto count = static_cast<double>(rows.count());
  const auto sum = [&](std::int64_t from, std::int64_t least) {
    return sum_of_clamped(count, static_cast<double>(rows.begin + sizes.diagonal + from),
                          static_cast<double>(least), static_cast<double>(keys.end));
  };
  const double ends = sizes.keys_after < 0
                          ? count * static_cast<double>(keys.end)
                          : sum(sizes.keys_after + 1, std::max(keys.begin, problem.mask.prefix));
  return ends - (sizes.keys_before < 0 ? count * static_cast<double>(keys.begin)
                                       : sum(-sizes.keys_before, keys.begin));
}

double visible_pairs(const Attention& problem) {
  const Lengths& lengths = problem.mask.lengths;
  if (lengths.kind != LengthsKind::kDocuments) {
    return mean_over_batch(problem, [&](std::int64_t batch) {
      return pairs_within(problem, {0, problem.seq_q}, keys_of_lengths(problem, batch, 0));
    });
  }
  double pairs = 0;
  KeyRange document;
  for (const std::int64_t each : lengths.numbers) {
    document = {document.end, document.end + each};
    pairs += pairs_within(problem, document, document);
  }
  return pairs;
}

}  // namespace fatune
