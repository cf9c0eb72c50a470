// enumerate.hpp - axes and rules to the codes of all points that satisfy every rule.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/space/rules.hpp"

namespace fatune {

struct Enumeration {
  std::vector<std::uint64_t> codes;     ///< ascending; mixed-radix, the last axis is the fastest
  std::uint64_t raw_size = 0;           ///< points at which no parameter's 'when' is broken
  std::vector<std::uint64_t> excluded;  ///< for each rule: raw points it was the first to exclude
  bool too_large = false;  ///< stopped: more valid points than `limit`, or too many to walk over
};

/// Words a point for an error message.
using DescribePoint = std::function<std::string(std::span<const std::uint16_t>)>;

/// A rule is asked as soon as the last axis it depends on is fixed, and once for each combination
/// of its axes, so a rule excludes whole subtrees. A rule that cannot be evaluated at a point that
/// no earlier rule excludes is an error. The product of `sizes`, each at least 1, must fit 63 bits.
Result<Enumeration> enumerate(std::span<const std::size_t> sizes, std::span<CompiledRule> rules,
                              std::uint64_t limit, const DescribePoint& describe_point);

}  // namespace fatune
