// input_case.hpp: Names a set of inputs by its distribution and its seed.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/fields_fwd.hpp"
#include "core/result.hpp"

namespace fatune {

enum class Distribution {
  kNormal,       ///< N(0,1); also used for timing, since zeros draw less power and run faster
  kUniform,      ///< U[-1,1]
  kOutliers,     ///< N(0,1), one element in 1024 from N(0,100) added: a few keys dominate
  kLargeLogits,  ///< N(0,1) with q times 8: overflow, running maximum
  kZeros,        ///< q and k zero, v N(0,1): every output is the mean of the visible values
  kOnesV,        ///< q and k N(0,1), v 1: every output is 1 for any scores
  kZeroQ,        ///< q zero, k and v N(0,1): the mean of the values for any keys
  kLastKey,      ///< N(0,1), the last key's values 64: only rows that see this key change
  kNotFinite,    ///< N(0,1), one element each of q, k and v infinite or NaN
};
std::string_view name(Distribution distribution);  ///< "normal", "large_logits", "ones_v", ...
Result<Distribution> parse_distribution(std::string_view text);
FieldWord<Distribution> word_of(const Distribution*);

/// A set of inputs: the distribution and the seed.
struct InputCase {
  Distribution distribution = Distribution::kNormal;
  std::uint64_t seed = 42;
  friend bool operator==(const InputCase&, const InputCase&) = default;
};
void fields(InputCase& x, FieldList& f);

}  // namespace fatune
