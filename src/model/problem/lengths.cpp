// lengths.cpp: Parses, prints, checks and resizes lengths that kernels read at run time.
#include "model/problem/lengths.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text.hpp"
#include "model/problem/problem.hpp"

namespace fatune {
namespace {

constexpr std::array<std::string_view, 4> kLengthForms = {"", "padding", "padding-left",
                                                          "document"};

std::string_view form_of(const Lengths& lengths) {
  return kLengthForms.at(static_cast<std::size_t>(lengths.kind));
}

std::string documents_fault(const Attention& problem) {
  if (problem.batch != 1)
    return fmt::format("packed documents are of one sequence, but batch is {}", problem.batch);
  if (problem.seq_q != problem.seq_kv)
    return fmt::format("mask document needs equal lengths, but seq_q is {} and seq_kv {}",
                       problem.seq_q, problem.seq_kv);
  std::int64_t sum = 0;
  for (const std::int64_t each : problem.mask.lengths.numbers) sum += each;
  if (sum == problem.seq_kv) return {};
  return fmt::format("mask document has {} keys in all, but seq_kv is {}", sum, problem.seq_kv);
}

std::string padding_fault(const Attention& problem) {
  const Lengths& lengths = problem.mask.lengths;
  const std::string_view form = form_of(lengths);
  const std::int64_t most = std::ranges::max(lengths.numbers);
  if (most > problem.seq_kv)
    return fmt::format("mask {} has length {}, but seq_kv is {}", form, most, problem.seq_kv);
  if (static_cast<std::int64_t>(lengths.numbers.size()) <= problem.batch) return {};
  return fmt::format("mask {} has {} lengths, but batch is {}", form, lengths.numbers.size(),
                     problem.batch);
}

}  // namespace

bool Lengths::operator==(const Lengths& other) const = default;

std::string name(const Lengths& lengths) {
  if (lengths.kind == LengthsKind::kNone) return {};
  return fmt::format("{}:{}", form_of(lengths), fmt::join(lengths.numbers, ","));
}

Result<Lengths> parse_lengths(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto form = std::ranges::find(kLengthForms, trim(text.substr(0, colon)));
  if (colon == std::string_view::npos || form == kLengthForms.end() || form->empty())
    return usage_error(fmt::format(
        "mask '{}' is not one of padding:N,..., padding-left:N,... or document:N,...", text));
  Lengths lengths{static_cast<LengthsKind>(form - kLengthForms.begin())};
  for (const std::string& part : split(text.substr(colon + 1), ',')) {
    const auto number = parse_integer(trim(part));
    if (!number || *number < 0 || *number > kLargestSize) {
      return usage_error(fmt::format(
          "mask {}:N,... has '{}', but must have whole numbers of at least 0", *form, trim(part)));
    }
    lengths.numbers.push_back(*number);
  }
  return lengths;
}

Lengths canonical(Lengths lengths) {
  if (!lengths.repeats()) return lengths;
  auto& numbers = lengths.numbers;
  for (std::size_t period = 1; period < numbers.size(); ++period) {
    bool repeats = numbers.size() % period == 0;
    for (std::size_t i = period; i < numbers.size(); ++i)
      repeats = repeats && numbers[i] == numbers[i - period];
    if (repeats) numbers.resize(period);
  }
  return lengths;
}

Lengths resized(const Lengths& lengths, std::int64_t batch, std::int64_t seq_kv) {
  const std::int64_t third = seq_kv / 3;
  if (lengths.kind == LengthsKind::kNone) return lengths;
  if (lengths.kind == LengthsKind::kDocuments)
    return {lengths.kind, {third, 0, 1, seq_kv - third - 1}};
  Lengths made{lengths.kind, {seq_kv - third, 0, 1, seq_kv}};
  made.numbers.resize(static_cast<std::size_t>(std::min<std::int64_t>(batch, 4)));
  return canonical(std::move(made));
}

Lengths longest(Lengths lengths, std::int64_t batch) {
  if (!lengths.repeats() || static_cast<std::int64_t>(lengths.numbers.size()) <= batch)
    return lengths;
  std::ranges::sort(lengths.numbers, std::greater());
  lengths.numbers.resize(static_cast<std::size_t>(batch));
  return canonical(std::move(lengths));
}

std::string lengths_fault(const Attention& problem) {
  const LengthsKind kind = problem.mask.lengths.kind;
  if (kind == LengthsKind::kNone) return {};
  std::string fault =
      kind == LengthsKind::kDocuments ? documents_fault(problem) : padding_fault(problem);
  if (!fault.empty() || visible_pairs(problem) > 0) return fault;
  return fmt::format("mask {} hides every key", name(problem.mask));
}

std::vector<std::int32_t> lengths_tensor(const Attention& problem) {
  const Lengths& lengths = problem.mask.lengths;
  std::vector<std::int32_t> made;
  if (lengths.repeats()) {
    for (std::int64_t batch = 0; batch < problem.batch; ++batch)
      made.push_back(static_cast<std::int32_t>(lengths.of(batch)));
    return made;
  }
  made.push_back(0);
  for (const std::int64_t each : lengths.numbers)
    made.push_back(made.back() + static_cast<std::int32_t>(each));
  return made;
}

}  // namespace fatune
