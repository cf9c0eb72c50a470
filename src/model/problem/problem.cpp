// problem.cpp - command line text and fields to a valid problem, and back to words.
#include "model/problem/problem.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "core/fields.hpp"
#include "core/text.hpp"

namespace fatune {
namespace {

struct Part {
  std::string_view name;
  std::string_view ordinal;
};
constexpr std::array<Part, 4> kParts = {
    {{"batch", "first"}, {"heads", "second"}, {"seq", "third"}, {"head_dim", "fourth"}}};

bool is_too_long_a_number(std::string_view text) {
  const std::size_t digits = text.find_first_not_of("+-");
  return digits <= 1 && text.find_first_not_of("0123456789", digits) == std::string_view::npos;
}

/// Empty when the size is allowed.
std::string size_fault(std::int64_t size) {
  if (size < 1) return "must be at least 1";
  if (size > kLargestSize) return fmt::format("must be at most {}", kLargestSize);
  return {};
}

/// One part of a shape; the error says only what is wrong with it.
Result<std::int64_t> parse_part(std::string_view text) {
  const std::string_view digits = trim(text);
  if (digits.empty()) return usage_error("is missing");
  const auto size = parse_integer(digits);
  if (!size && is_too_long_a_number(digits)) {
    return usage_error(digits.front() == '-' ? "must be at least 1"
                                             : fmt::format("must be at most {}", kLargestSize));
  }
  if (!size) return usage_error(fmt::format("must be a whole number, not '{}'", digits));
  const std::string fault = size_fault(*size);
  if (!fault.empty()) return usage_error(fault);
  return *size;
}

/// Whether a * b * c * d elements of `bytes` stay within the limit of a tensor.
bool fits(std::array<std::int64_t, 4> sizes, std::int64_t bytes) {
  std::int64_t total = bytes;
  for (const std::int64_t size : sizes) {
    if (total > kLargestTensor / size) return false;
    total *= size;
  }
  return true;
}

}  // namespace

std::string_view name(Mask mask) { return mask == Mask::kCausal ? "causal" : "none"; }

Result<Mask> parse_mask(std::string_view text) {
  if (text == "none") return Mask::kNone;
  if (text == "causal") return Mask::kCausal;
  return usage_error(fmt::format("mask '{}' is unknown; known are none, causal", text));
}

FieldWord<Mask> word_of(const Mask*) {
  static constexpr std::array kAll = {Mask::kNone, Mask::kCausal};
  return {parse_mask, kAll};
}

Result<Problem> parse_shape(std::string_view text, std::string_view where) {
  const std::string prefix = fmt::format("{}{}{}: ", where, where.empty() ? "" : " ", text);
  const std::vector<std::string> parts = split(text, ',');
  if (parts.size() != kParts.size()) {
    return usage_error(fmt::format("{}has {} part{}, but a shape is batch,heads,seq,head_dim",
                                   prefix, parts.size(), parts.size() == 1 ? "" : "s"));
  }
  std::array<std::int64_t, kParts.size()> sizes{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Result<std::int64_t> size = parse_part(parts[i]);
    if (!size) {
      return usage_error(fmt::format("{}{} {} ({} part)", prefix, kParts[i].name,
                                     size.error().message, kParts[i].ordinal));
    }
    sizes[i] = *size;
  }
  const Problem problem{.batch = sizes[0],
                        .heads = sizes[1],
                        .kv_heads = sizes[1],
                        .seq_q = sizes[2],
                        .seq_kv = sizes[2],
                        .head_dim = sizes[3]};
  if (const Status valid = validate(problem); !valid) {
    return usage_error(prefix + valid.error().message);
  }
  return problem;
}

Status validate(const Problem& problem) {
  if (problem.own) return {};  // its tensors are checked where the declaration is known
  const std::array<std::pair<std::string_view, std::int64_t>, 6> sizes = {
      {{"batch", problem.batch},
       {"heads", problem.heads},
       {"kv_heads", problem.kv_heads},
       {"seq_q", problem.seq_q},
       {"seq_kv", problem.seq_kv},
       {"head_dim", problem.head_dim}}};
  for (const auto& [size_name, size] : sizes) {
    const std::string fault = size_fault(size);
    if (!fault.empty()) return usage_error(fmt::format("{} {}, but is {}", size_name, fault, size));
  }
  if (problem.heads % problem.kv_heads != 0) {
    return usage_error(fmt::format("kv_heads must divide heads, but {} does not divide {}",
                                   problem.kv_heads, problem.heads));
  }
  const int bytes = size_of(problem.dtype);
  if (!fits({problem.batch, problem.heads, problem.seq_q, problem.head_dim}, bytes)) {
    return usage_error("q and out would be larger than 1 TiB each");
  }
  if (!fits({problem.batch, problem.kv_heads, problem.seq_kv, problem.head_dim}, bytes)) {
    return usage_error("k and v would be larger than 1 TiB each");
  }
  return {};
}

std::string describe(const Problem& p) {
  if (p.own)
    return fmt::format("{} {} {}", p.own->operation, describe(p.own->sizes), name(p.dtype));
  std::string text = fmt::format("{},{}", p.batch, p.heads);
  if (p.kv_heads != p.heads) text += fmt::format("(kv {})", p.kv_heads);
  text += fmt::format(",{}", p.seq_q);
  if (p.seq_kv != p.seq_q) text += fmt::format("x{}", p.seq_kv);
  text += fmt::format(",{} {}", p.head_dim, name(p.dtype));
  if (p.mask != Mask::kNone) text += fmt::format(" {}", name(p.mask));
  if (p.lse) text += " lse";
  return text;
}

std::string key(const Problem& p) {
  if (p.own)
    return fmt::format("{}:{}:{}", p.own->operation, describe(p.own->sizes), name(p.dtype));
  return fmt::format("b{}-h{}-kv{}-sq{}-skv{}-d{}-{}-{}{}", p.batch, p.heads, p.kv_heads, p.seq_q,
                     p.seq_kv, p.head_dim, name(p.dtype), name(p.mask), p.lse ? "-lse" : "");
}

void fields(Problem& x, FieldList& f) {
  if (f.chooses("operation", x.own)) {
    fields(*x.own, f);
    f("dtype", x.dtype);
    return;
  }
  f.record("attention_problem");
  f("batch", x.batch).required().at_least(1);
  f("heads", x.heads).required().at_least(1);
  f("kv_heads", x.kv_heads).same_as(&x.heads).at_least(1);
  f("seq_q", x.seq_q).required().at_least(1);
  f("seq_kv", x.seq_kv).same_as(&x.seq_q).at_least(1);
  f("head_dim", x.head_dim).required().at_least(1);
  f("dtype", x.dtype);
  f("mask", x.mask);
  f("lse", x.lse).omitted().about("The log-sum-exp of each row is written, too");
  f.rule("", [&x] {
    const Status valid = validate(x);
    return valid ? std::string() : valid.error().message;
  });
}

}  // namespace fatune
