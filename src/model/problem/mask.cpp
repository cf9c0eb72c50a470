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
#include "model/problem/rule.hpp"

namespace fatune {
namespace {

constexpr std::array kMaskKinds = {MaskKind::kNone,     MaskKind::kCausal,    MaskKind::kUpperLeft,
                                   MaskKind::kWindow,   MaskKind::kPrefix,    MaskKind::kPadding,
                                   MaskKind::kDocument, MaskKind::kExpression};
constexpr std::string_view kForms =
    "none, causal, causal-upper-left, window:L,R, causal-window:N, prefix:N, padding:N,..., "
    "padding-left:N,..., document:N,... or an expression of b, h, q and k";
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

/// Returns where lengths follow an expression, which may have a + of its own: "q < k+padding:9".
std::size_t plus_of_lengths(std::string_view text) {
  const std::size_t form = std::max(text.rfind("padding") + 1, text.rfind("document") + 1);
  if (form <= 1) return std::string_view::npos;
  const std::size_t before = text.find_last_not_of(' ', form - 2);
  return before != std::string_view::npos && text[before] == '+' ? before : std::string_view::npos;
}

/// Names of masks have none of these characters.
bool is_expression(std::string_view text) {
  return text.find_first_of("<>=!&|%?[") != std::string_view::npos;
}

/// Returns the rule as an operand of &&.
std::string as_conjunct(const std::string& rule) {
  return PairRule::of(rule, RuleKind::kMask).as_conjunct();
}

}  // namespace

std::string_view name(MaskKind kind) {
  constexpr std::array<std::string_view, kMaskKinds.size()> kWords = {
      "none",   "causal",  "causal-upper-left", "window",
      "prefix", "padding", "document",          "expression"};
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
  if (!mask.rule.empty()) kinds.push_back(MaskKind::kExpression);
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
       {.lengths = {LengthsKind::kDocuments, {100, 28}}},
       {.rule = "(q + k) % 4 != 3"}}};
  return masks.at(static_cast<std::size_t>(kind));
}

static std::string base_name(const Mask& mask);

/// Returns "causal && EXPR", or the expression alone.
static std::string ruled_name(const Mask& mask) {
  Mask bounds = mask;
  bounds.rule.clear();
  if (kind_of(mask) == MaskKind::kNone) return mask.rule;
  return fmt::format("{} && {}", base_name(bounds), as_conjunct(mask.rule));
}

/// Returns the name of the mask without its lengths.
static std::string base_name(const Mask& mask) {
  const MaskKind kind = kind_of(mask);
  if (!mask.rule.empty()) return ruled_name(mask);
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
  return base_name(mask) == "none" ? lengths : base_name(mask) + "+" + lengths;
}

std::string slug(const Mask& mask) {
  std::string text = name(mask);
  if (!mask.rule.empty()) return "expression-" + crc32_hex(text);
  if (text.size() > kLongestSlug)
    text = fmt::format("{}-{}", text.substr(0, text.rfind(':')), crc32_hex(text));
  std::ranges::replace_if(
      text, [](char c) { return c == ':' || c == ',' || c == '+'; }, '-');
  return text;
}

static Result<Mask> parse_base(std::string_view text);

/// Parses an expression, which may follow a named form: "causal && EXPR".
static Result<Mask> parse_ruled(std::string_view text) {
  const std::size_t link = text.find("&&");
  if (link == std::string_view::npos || is_expression(text.substr(0, link))) {
    FATUNE_TRY(const PairRule rule, PairRule::parse(text, RuleKind::kMask));
    return Mask{.rule = rule.text()};
  }
  FATUNE_TRY(Mask mask, parse_base(trim(text.substr(0, link))));
  const std::string_view rest = text.substr(link + 2);
  FATUNE_TRY(const PairRule rule, PairRule::parse(rest, RuleKind::kMask));
  mask.rule = rule.text();
  // The form stands for an operand, which a weaker operator would part from what follows.
  const Result<PairRule> whole = PairRule::parse(fmt::format("1 &&{}", rest), RuleKind::kMask);
  if (whole && whole->conjuncts().size() > 1) return mask;
  return usage_error(fmt::format("mask '{}': put what follows && in parentheses", text));
}

/// Parses the name of a mask without lengths.
static Result<Mask> parse_base(std::string_view text) {
  if (is_expression(text)) return parse_ruled(text);
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
  if (mask == Mask::kNone || ((mask.upper_left || mask.prefix > 0) && mask.rule.empty())) {
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
  const std::size_t plus = is_expression(text) ? plus_of_lengths(text) : text.find('+');
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
          "(padding|padding-left|document):[0-9]+(,[0-9]+)*|"
          ".*[<>=!&|%?\\[].*)$"};
}

/// Adds bounds to the mask; false: it has no place for them.
static bool adopt(Mask& mask, const Band& band) {
  if (mask.prefix > 0 || band.most.value_or(0) < 0 || band.least.value_or(0) > 0) return false;
  if (band.prefix > 0) {
    if (kind_of(mask) != MaskKind::kNone || mask.lengths.kind != LengthsKind::kNone ||
        band.most != 0)
      return false;
    mask.prefix = band.prefix;
  }
  if (band.most) mask.after = std::min(mask.after.value_or(kLargestSize), *band.most);
  if (band.least) mask.before = std::min(mask.before.value_or(kLargestSize), -*band.least);
  return true;
}

/// Makes bounds of the mask from those that its rule states. Both count alike at equal lengths.
static Mask with_bands(Mask mask) {
  std::vector<PairRule> left;
  for (PairRule& each : PairRule::of(mask.rule, RuleKind::kMask).conjuncts()) {
    const std::optional<Band> band = each.band();
    if (!band || !adopt(mask, *band)) left.push_back(std::move(each));
  }
  mask.rule = joined(left);
  return mask;
}

Mask canonical(Mask mask, std::int64_t seq_q, std::int64_t seq_kv) {
  if (!mask.rule.empty() && seq_q == seq_kv) mask = with_bands(std::move(mask));
  if (mask.prefix >= seq_kv) return {.lengths = mask.lengths, .rule = mask.rule};
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

std::string mask_fault(const Attention& problem) {
  const std::string lengths = lengths_fault(problem);
  if (!lengths.empty() || problem.mask == Mask::kNone) return lengths;
  if (!problem.mask.rule.empty()) {
    const auto rule = PairRule::parse(problem.mask.rule, RuleKind::kMask, problem.tensors);
    if (!rule) return rule.error().message;
    const std::string fault = rule->fault(problem);
    if (!fault.empty()) return fmt::format("mask '{}': {}", problem.mask.rule, fault);
  }
  const bool known = std::ranges::none_of(problem.tensors, [](const NamedTensor& each) {
    return each.type == NamedTensor::Type::kI32 && each.runs.empty();
  });
  return !known || visible_pairs(problem) > 0
             ? ""
             : fmt::format("mask {} hides every key", name(problem.mask));
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
  text += fmt::format(fmt::runtime(kOfLengths.at(kind)), problem.seq_kv);
  if (problem.mask.rule.empty()) return text;
  return fmt::format("{}{}{} with q = i, k = j, b and h of batch and head", text,
                     text.empty() ? "" : " and ", as_conjunct(problem.mask.rule));
}

std::string distance_rule(const Attention& problem) {
  const std::int64_t shift = problem.seq_kv - problem.seq_q;
  if (shift == 0) return "|i - j|";
  return fmt::format("|i {} {} - j|", shift < 0 ? '-' : '+', std::abs(shift));
}

}  // namespace fatune
