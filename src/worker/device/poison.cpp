// poison.cpp - counts and places elements that kept the patterns, or differ.
#include "worker/device/poison.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "worker/verify/compare.hpp"

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

/// How an output's elements are counted and named.
struct Output {
  std::size_t width = 0;  ///< bytes of an element
  std::string elements;   ///< " outputs "
  std::function<std::string(std::size_t element)> place;
};

std::string place_text(const Problem& problem, OutputKind kind, std::size_t element) {
  const auto at = static_cast<std::int64_t>(element);
  if (kind == OutputKind::kOut) return describe(place_of(problem, at));
  return describe_row(place_of(problem, at * problem.head_dim));
}

std::string finding(const Output& output, const PoisonedRun& first, const PoisonedRun& second) {
  const std::size_t at = first_difference(first.bytes, second.bytes);
  if (at == first.bytes.size()) return "";
  const std::size_t width = output.width;
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
  const std::string all = " of " + std::to_string(first.bytes.size() / width) + output.elements;
  if (unwritten > 0) {
    return "poison: " + std::to_string(unwritten) + all + "were never written, first at " +
           output.place(first_unwritten);
  }
  return "repeat: " + std::to_string(different) + all + "differ between two runs, first at " +
         output.place(at / width);
}

}  // namespace

std::string poison_finding(const Problem& problem, OutputKind kind, const PoisonedRun& first,
                           const PoisonedRun& second) {
  const Output output{width_of(problem, kind),
                      kind == OutputKind::kLse ? " log-sum-exps " : " outputs ",
                      [&](std::size_t element) { return place_text(problem, kind, element); }};
  return finding(output, first, second);
}

std::string poison_finding(const TensorPlan& tensor, const PoisonedRun& first,
                           const PoisonedRun& second) {
  const Output output{tensor.width(), " elements of " + tensor.name + " ",
                      [&](std::size_t element) {
                        return describe_place(tensor, static_cast<std::int64_t>(element));
                      }};
  return finding(output, first, second);
}

}  // namespace fatune
