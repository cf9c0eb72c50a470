// tolerance.hpp: Derives limits of errors, and judges errors by them.
#pragma once

#include <string>

#include "model/problem/input_case.hpp"
#include "model/problem/problem.hpp"
#include "worker/verify/compare.hpp"

namespace fatune {

/// The factors of the rules for an element type.
struct ToleranceFactors {
  double max_factor = 2;     ///< times the low-precision reference's largest error
  double mean_factor = 1.5;  ///< times the low-precision reference's mean error
  double relative_l2 = 2e-3;
  double part_factor = 2;  ///< a head or block may be this much above relative_l2
  double method_l2 = 0;    ///< fp8 only: against unquantized inputs
};
ToleranceFactors tolerance_factors(Dtype dtype);

/// The unit in the last place of 1: the distance to the next element upwards.
double step_at_one(Dtype dtype);

/// Whether a reference has `rounding`: if one key can have most of a row's weight. A few elements
/// then have the largest errors, and the low-precision reference may have small errors in them by
/// chance. A kernel that rescales late rounds even the weight of the largest score.
bool bounds_rounding(const Problem& problem, Distribution distribution);
/// The most that rounding costs each element of out = sum of p v. Each weight p is rounded to the
/// problem's type, to nearest, and out to its own type. Then out is off by at most (u_p + u_out)
/// times the sum of p |v|, where u is half a step at 1. `magnitudes` has that sum of every element,
/// which is the attention of |v|.
std::vector<float> rounding_of(const Attention& problem, std::vector<float> magnitudes);

/// The limits for one set of attention's inputs. `low_precision` compares the low-precision
/// reference with the reference.
Limits attention_limits(const TensorReference& reference, const Comparison& low_precision,
                        Distribution distribution, const Attention& problem);
/// The limits of a declared output. `io` is the problem's type, which kernels may round to on their
/// way to an fp32 output.
Limits declared_limits(const TensorReference& reference, const Comparison& low_precision, Dtype io);

struct Judgement {
  bool passed = false;
  double margin = 0;       ///< largest value / limit; at most kWorstMargin
  std::string worst_rule;  ///< the rule that gave the margin
  std::string reason;      ///< rule, place, value and limit of a failure
};
/// Judges integers and bool by the rule "equal" alone. Judges others by the rules "finite" and
/// "masked_rows", then by the declared "tolerance" alone, or by the others as far as the reference
/// has limits. "not_finite" comes last.
Judgement judge(const TensorReference& reference, const Comparison& comparison);

/// How far an output of zeros misses the limits. Below kLeastVacuity the rules come near to
/// accepting it.
double vacuity_margin(const TensorReference& reference);
inline constexpr double kLeastVacuity = 4;

}  // namespace fatune
