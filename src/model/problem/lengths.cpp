// lengths.cpp: Parses, prints, checks and resizes lengths that kernels read at run time.
#include "model/problem/lengths.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text.hpp"
#include "model/problem/problem.hpp"

namespace fatune {
namespace {

constexpr std::array<std::string_view, 4> kLengthForms = {"", "padding", "padding-left",
                                                          "document"};

/// Returns the lengths without repetitions, as lengths repeat over the batch.
Lengths told_once(Lengths lengths) {
  auto& numbers = lengths.numbers;
  for (std::size_t period = 1; lengths.repeats() && period < numbers.size(); ++period) {
    bool repeated = numbers.size() % period == 0;
    for (std::size_t i = period; i < numbers.size(); ++i)
      repeated = repeated && numbers[i] == numbers[i - period];
    if (repeated) numbers.resize(period);
  }
  return lengths;
}

}  // namespace

// Not by vectors' ==: of an empty constant g++ 12 takes it for a call of memcmp with null.
bool Lengths::operator==(const Lengths& other) const { return (*this <=> other) == 0; }

std::string name(const Lengths& lengths) {
  if (lengths.kind == LengthsKind::kNone) return {};
  return fmt::format("{}:{}", kLengthForms.at(static_cast<std::size_t>(lengths.kind)),
                     fmt::join(lengths.numbers, ","));
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
    if (!number || *number < 0 || *number > kLargestSize)
      return usage_error(fmt::format(
          "mask {}:N,... has '{}', but must have whole numbers of at least 0", *form, trim(part)));
    lengths.numbers.push_back(*number);
  }
  return told_once(std::move(lengths));
}

Lengths resized(const Lengths& lengths, std::int64_t batch, std::int64_t seq_kv) {
  const std::int64_t third = seq_kv / 3;
  if (lengths.kind == LengthsKind::kNone) return lengths;
  if (!lengths.repeats()) return {lengths.kind, {third, 0, 1, seq_kv - third - 1}};
  Lengths made{lengths.kind, {seq_kv - third, 0, 1, seq_kv}};
  made.numbers.resize(static_cast<std::size_t>(std::min<std::int64_t>(batch, 4)));
  return told_once(std::move(made));
}

Lengths fitted(Lengths lengths, std::int64_t batch) {
  if (lengths.repeats() && static_cast<std::int64_t>(lengths.numbers.size()) > batch)
    lengths.numbers = {std::ranges::max(lengths.numbers)};
  return lengths;
}

std::string lengths_fault(const Attention& p) {
  const auto& [kind, numbers] = p.mask.lengths;
  if (kind == LengthsKind::kNone) return {};
  const bool documents = kind == LengthsKind::kDocuments;
  const std::string_view form = kLengthForms.at(static_cast<std::size_t>(kind));
  const std::int64_t most = std::ranges::max(numbers);
  const std::int64_t sum = std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0});
  if (documents && p.batch != 1)
    return fmt::format("packed documents are of one sequence, but batch is {}", p.batch);
  if (documents && p.seq_q != p.seq_kv)
    return fmt::format("mask document needs equal lengths, but seq_q is {} and seq_kv {}", p.seq_q,
                       p.seq_kv);
  if (documents && sum != p.seq_kv)
    return fmt::format("mask document has {} keys in all, but seq_kv is {}", sum, p.seq_kv);
  if (most > p.seq_kv)
    return fmt::format("mask {} has length {}, but seq_kv is {}", form, most, p.seq_kv);
  if (!documents && static_cast<std::int64_t>(numbers.size()) > p.batch)
    return fmt::format("mask {} has {} lengths, but batch is {}", form, numbers.size(), p.batch);
  return {};
}

std::vector<std::int32_t> lengths_tensor(const Attention& problem) {
  const Lengths& lengths = problem.mask.lengths;
  std::vector<std::int32_t> made;
  if (!lengths.repeats()) made.push_back(0);
  for (std::int64_t i = 0; i < (lengths.repeats() ? problem.batch : lengths.documents()); ++i)
    made.push_back(static_cast<std::int32_t>(lengths.of(i)) +
                   (lengths.repeats() ? 0 : made.back()));
  return made;
}

}  // namespace fatune
