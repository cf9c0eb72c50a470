// tolerance.hpp - errors to a verdict, rule by rule with the reasons.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "model/problem/problem.hpp"
#include "worker/verify/compare.hpp"
#include "worker/verify/inputs.hpp"

namespace fatune {

/// A rule of the accuracy gate, as `inspect` prints it.
struct ToleranceRule {
  std::string_view name;
  std::string_view statement;
  std::string_view why;
};
/// In the order in which they are judged: finite, masked_rows, max, max_of_ones, mean, relative_l2,
/// head_l2, block_l2, vacuity, lse.
std::span<const ToleranceRule> tolerance_rules();

/// What the rules multiply with, by element type.
struct ToleranceFactors {
  double max_factor = 2;     ///< of the low-precision reference's largest error
  double mean_factor = 1.5;  ///< of the low-precision reference's mean error
  double relative_l2 = 2e-3;
  double part_factor = 2;  ///< a head or block may be this much above relative_l2
};
ToleranceFactors tolerance_factors(Dtype dtype);

/// The limits for one set of inputs.
struct Limits {
  double max_abs = 0;
  double mean_abs = 0;
  /// Absent for distributions in which single keys decide a row.
  std::optional<double> relative_l2, part_l2;
};
/// `twin`: the low-precision reference, compared with the reference.
Limits make_limits(const ReferenceOutput& reference, const Comparison& twin,
                   Distribution distribution);

struct Judgement {
  bool passed = false;
  double margin = 0;       ///< largest value / limit; at most kWorstMargin
  std::string worst_rule;  ///< which rule gave it
  std::string reason;      ///< of a failure: rule, place, value, limit
};
inline constexpr double kWorstMargin = 1e6;  ///< stands for infinity, which JSON cannot write
Judgement judge(const Problem& problem, const Comparison& comparison, const Limits& limits);

/// The zero-output check: by how much an output of zeros misses the limits. Below kLeastVacuity the
/// rules would accept one.
double vacuity_margin(const ReferenceOutput& reference, const Limits& limits);
inline constexpr double kLeastVacuity = 4;

}  // namespace fatune
