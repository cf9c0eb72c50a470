// mask.cpp: Parses and prints masks, and finds the keys that a query sees.
#include "model/problem/mask.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/text.hpp"
#include "core/words.hpp"
#include "model/problem/problem.hpp"

namespace fatune {
namespace {

constexpr std::array kMaskKinds = {MaskKind::kNone, MaskKind::kCausal, MaskKind::kUpperLeft,
                                   MaskKind::kWindow, MaskKind::kPrefix};
constexpr std::string_view kForms =
    "none, causal, causal-upper-left, window:L,R, causal-window:N or prefix:N";

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
      "none", "causal", "causal-upper-left", "window", "prefix"};
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

Mask example_of(MaskKind kind) {
  constexpr std::array<Mask, kMaskKinds.size()> kMasks = {{{},
                                                           {.after = 0},
                                                           {.after = 0, .upper_left = true},
                                                           {.before = 127, .after = 0},
                                                           {.after = 0, .prefix = 100}}};
  return kMasks.at(static_cast<std::size_t>(kind));
}

std::string name(const Mask& mask) {
  const MaskKind kind = kind_of(mask);
  if (kind == MaskKind::kPrefix) return fmt::format("prefix:{}", mask.prefix);
  if (kind != MaskKind::kWindow) return std::string(name(kind));
  const std::int64_t before = mask.before.value_or(kLargestSize);
  const std::int64_t after = mask.after.value_or(kLargestSize);
  if (after == 0) return fmt::format("causal-window:{}", before + 1);
  return fmt::format("window:{},{}", before, after);
}

std::string slug(const Mask& mask) {
  std::string text = name(mask);
  std::ranges::replace_if(
      text, [](char c) { return c == ':' || c == ','; }, '-');
  return text;
}

Result<Mask> parse_mask(std::string_view text) {
  text = trim(text);
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

FieldWord<Mask> word_of(const Mask*) {
  return {
      parse_mask,
      {},
      "^(none|causal|causal-upper-left|window:[0-9]+,[0-9]+|causal-window:[0-9]+|prefix:[0-9]+)$"};
}

Mask canonical(Mask mask, std::int64_t seq_q, std::int64_t seq_kv) {
  if (mask.prefix >= seq_kv) return Mask::kNone;
  if (seq_q == seq_kv) mask.upper_left = false;
  if (kind_of(mask) != MaskKind::kWindow) return mask;
  const std::int64_t before = std::min(mask.before.value_or(kLargestSize), seq_kv - 1);
  const std::int64_t after = std::min(mask.after.value_or(kLargestSize), seq_q - 1);
  if (before < seq_kv - 1) return {.before = before, .after = after};
  if (after < seq_q - 1 && after > 0) return {.before = before, .after = after};
  return after < seq_q - 1 || mask.after == 0 ? Mask::kCausal : Mask::kNone;
}

Mask narrowed(Mask mask, std::int64_t seq_q, std::int64_t seq_kv) {
  if (mask.before) mask.before = std::min(*mask.before, seq_kv / 3);
  if (mask.after) mask.after = std::min(*mask.after, seq_q / 3);
  mask.prefix = std::min(mask.prefix, seq_kv / 3);
  return canonical(mask, seq_q, seq_kv);
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

KeyRange visible_keys(const Attention& problem, std::int64_t row) {
  const MaskSizes sizes = mask_sizes(problem);
  const std::int64_t keys = problem.seq_kv, position = row + sizes.diagonal;
  KeyRange range{0, keys};
  if (sizes.keys_after >= 0)
    range.end = std::clamp(position + sizes.keys_after + 1, problem.mask.prefix, keys);
  if (sizes.keys_before >= 0)
    range.begin = std::clamp<std::int64_t>(position - sizes.keys_before, 0, keys);
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
  return text;
}

std::int64_t unseeing_rows(const Attention& problem) {
  const MaskSizes sizes = mask_sizes(problem);
  if (sizes.keys_after < 0 || problem.mask.prefix > 0) return 0;
  return std::max<std::int64_t>(0, -sizes.diagonal - sizes.keys_after);
}

std::int64_t seen_keys(const Attention& problem) {
  return visible_keys(problem, problem.seq_q - 1).end - visible_keys(problem, 0).begin;
}

double visible_pairs(const Attention& problem) {
  const MaskSizes sizes = mask_sizes(problem);
  const auto rows = static_cast<double>(problem.seq_q), keys = static_cast<double>(problem.seq_kv);
  const auto sum = [&](std::int64_t from, std::int64_t least) {
    return sum_of_clamped(rows, static_cast<double>(sizes.diagonal + from),
                          static_cast<double>(least), keys);
  };
  const double ends =
      sizes.keys_after < 0 ? rows * keys : sum(sizes.keys_after + 1, problem.mask.prefix);
  return sizes.keys_before < 0 ? ends : ends - sum(-sizes.keys_before, 0);
}

}  // namespace fatune
