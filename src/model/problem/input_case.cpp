// input_case.cpp: Converts input distributions to names and back.
#include "model/problem/input_case.hpp"

#include <array>
#include <string>
#include <utility>

#include "core/fields.hpp"

namespace fatune {
namespace {

constexpr std::array<std::pair<Distribution, std::string_view>, 9> kDistributions = {{
    {Distribution::kNormal, "normal"},
    {Distribution::kUniform, "uniform"},
    {Distribution::kOutliers, "outliers"},
    {Distribution::kLargeLogits, "large_logits"},
    {Distribution::kZeros, "zeros"},
    {Distribution::kOnesV, "ones_v"},
    {Distribution::kZeroQ, "zero_q"},
    {Distribution::kLastKey, "last_key"},
    {Distribution::kNotFinite, "not_finite"},
}};

}  // namespace

std::string_view name(Distribution distribution) {
  for (const auto& [each, text] : kDistributions) {
    if (each == distribution) return text;
  }
  return kDistributions.front().second;
}

Result<Distribution> parse_distribution(std::string_view text) {
  std::string known;
  for (const auto& [each, name] : kDistributions) {
    if (name == text) return each;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  return usage_error("unknown distribution '" + std::string(text) + "' (" + known + ")");
}

FieldWord<Distribution> word_of(const Distribution*) { return {.parse = parse_distribution}; }

void fields(InputCase& x, FieldList& f) {
  f("distribution", x.distribution).required();
  f("seed", x.seed).required();
}

}  // namespace fatune
