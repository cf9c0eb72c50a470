// tolerance.hpp - errors to a verdict, rule by rule with the reasons.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/problem/input_case.hpp"
#include "model/problem/problem.hpp"
#include "worker/verify/compare.hpp"

namespace fatune {

/// What the rules multiply with, by element type.
struct ToleranceFactors {
  double max_factor = 2;     ///< of the low-precision reference's largest error
  double mean_factor = 1.5;  ///< of the low-precision reference's mean error
  double relative_l2 = 2e-3;
  double part_factor = 2;  ///< a head or block may be this much above relative_l2
  double method_l2 = 0;    ///< of fp8: against unquantized inputs
};
ToleranceFactors tolerance_factors(Dtype dtype);

/// The unit in the last place of 1: from there to the next element upwards.
double step_at_one(Dtype dtype);

/// Whether a reference has `rounding`: of fp8, where the weight of one key can be most of a row's.
/// A few elements have the largest errors there, and the low-precision reference may have small
/// ones in them by chance.
bool bounds_rounding(const Problem& problem, Distribution distribution);
/// An out = sum of p v with each weight p rounded to the problem's type, to nearest, and out to its
/// own, is off by at most (u_p + u_out) times the sum of p |v|, where u is half a step at 1.
/// `magnitudes`: that sum of every element, which is the attention of |v|.
std::vector<float> rounding_of(const Problem& problem, std::vector<float> magnitudes);

/// For one set of attention's inputs, with `twin` the low-precision reference, compared with the
/// reference.
Limits attention_limits(const TensorReference& reference, const Comparison& twin,
                        Distribution distribution, const Problem& problem);
/// Of a declared output. `io`: the problem's type, which kernels may round to on their way to an
/// fp32 output.
Limits declared_limits(const TensorReference& reference, const Comparison& twin, Dtype io);

struct Judgement {
  bool passed = false;
  double margin = 0;       ///< largest value / limit; at most kWorstMargin
  std::string worst_rule;  ///< which rule gave it
  std::string reason;      ///< of a failure: rule, place, value, limit
};
/// By the rules "finite" and "masked_rows", then by the declared "tolerance" alone, or by the
/// others as far as the reference has limits; by "not_finite" where all of these are kept.
Judgement judge(const TensorReference& reference, const Comparison& comparison);

/// The zero-output check: by how much an output of zeros misses the limits. Below kLeastVacuity the
/// rules would accept one.
double vacuity_margin(const TensorReference& reference);
inline constexpr double kLeastVacuity = 4;

}  // namespace fatune
