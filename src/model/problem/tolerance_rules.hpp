// tolerance_rules.hpp - the rules of the accuracy gate in words, for those who are judged by them.
#pragma once

#include <span>
#include <string_view>

namespace fatune {

struct ToleranceRule {
  std::string_view name;
  std::string_view statement;
  std::string_view why;
};
/// In the order in which they are judged: finite, masked_rows, max, max_of_rounding, max_of_ones,
/// mean, relative_l2, head_l2, block_l2, vacuity, lse.
std::span<const ToleranceRule> tolerance_rules();

}  // namespace fatune
