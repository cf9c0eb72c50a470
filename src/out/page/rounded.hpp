// rounded.hpp - a number to one with as many digits as a page needs, so that it is short as JSON.
#pragma once

namespace fatune {

inline constexpr int kPageDigits = 5;  ///< significant; times are known to three or four

/// 0 for what is no finite number.
double rounded(double value, int digits = kPageDigits);

}  // namespace fatune
