// tolerance_rules.hpp: Describes the rules of the accuracy gate for authors of kernels.
#pragma once

#include <span>
#include <string_view>

namespace fatune {

struct ToleranceRule {
  std::string_view name;
  std::string_view statement;
  std::string_view why;
};
/// Lists the rules in the order of judgement: finite, masked_rows, max, max_of_rounding,
/// max_of_ones, mean, relative_l2, head_l2, block_l2, vacuity, lse.
std::span<const ToleranceRule> tolerance_rules();

}  // namespace fatune
