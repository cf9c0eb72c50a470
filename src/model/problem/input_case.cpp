// input_case.cpp: Converts input distributions to names and back.
#include "model/problem/input_case.hpp"

#include <array>
#include <string>

#include "core/fields.hpp"

namespace fatune {

/// Indexed by Distribution.
static constexpr std::array<std::string_view, 9> kDistributions = {
    "normal", "uniform", "outliers", "large_logits", "zeros",
    "ones_v", "zero_q",  "last_key", "not_finite"};

std::string_view name(Distribution distribution) {
  return kDistributions.at(static_cast<std::size_t>(distribution));
}

Result<Distribution> parse_distribution(std::string_view text) {
  std::string known;
  for (std::size_t i = 0; i < kDistributions.size(); ++i) {
    if (kDistributions[i] == text) return static_cast<Distribution>(i);
    known += (known.empty() ? "" : ", ") + std::string(kDistributions[i]);
  }
  return usage_error("unknown distribution '" + std::string(text) + "' (" + known + ")");
}

FieldWord<Distribution> word_of(const Distribution*) { return {.parse = parse_distribution}; }

void fields(InputCase& x, FieldList& f) {
  f("distribution", x.distribution).required();
  f("seed", x.seed).required();
}

}  // namespace fatune
