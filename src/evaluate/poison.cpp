// poison.cpp - counts and places elements that kept the patterns, or differ.
#include "evaluate/poison.hpp"

#include <algorithm>
#include <cstring>

#include "verify/compare.hpp"

namespace fatune {
namespace {

/// Byte offset of the first difference; the size when there is none.
std::size_t first_difference(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (std::memcmp(a.data(), b.data(), a.size()) == 0) return a.size();
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
}

std::size_t width_of(const Problem& problem, OutputKind kind) {
  return kind == OutputKind::kLse ? sizeof(float)
                                  : static_cast<std::size_t>(size_of(problem.dtype));
}

std::string place_text(const Problem& problem, OutputKind kind, std::size_t element) {
  const auto at = static_cast<std::int64_t>(element);
  if (kind == OutputKind::kOut) return describe(place_of(problem, at));
  return describe_row(place_of(problem, at * problem.head_dim));
}

}  // namespace

std::string poison_finding(const Problem& problem, OutputKind kind, const PoisonedRun& first,
                           const PoisonedRun& second) {
  const std::size_t at = first_difference(first.bytes, second.bytes);
  if (at == first.bytes.size()) return "";
  const std::size_t width = width_of(problem, kind);
  std::size_t different = 0, unwritten = 0, first_unwritten = 0;
  for (std::size_t i = 0; i < first.bytes.size(); i += width) {
    if (std::memcmp(first.bytes.data() + i, second.bytes.data() + i, width) == 0) continue;
    ++different;
    bool kept = true;
    for (std::size_t byte = i; byte < i + width; ++byte) {
      kept = kept && first.bytes[byte] == std::byte{first.pattern} &&
             second.bytes[byte] == std::byte{second.pattern};
    }
    if (kept && unwritten++ == 0) first_unwritten = i / width;
  }
  const std::string all = " of " + std::to_string(first.bytes.size() / width) +
                          (kind == OutputKind::kLse ? " log-sum-exps " : " outputs ");
  if (unwritten > 0) {
    return "poison: " + std::to_string(unwritten) + all + "were never written, first at " +
           place_text(problem, kind, first_unwritten);
  }
  return "repeat: " + std::to_string(different) + all + "differ between two runs, first at " +
         place_text(problem, kind, at / width);
}

}  // namespace fatune
